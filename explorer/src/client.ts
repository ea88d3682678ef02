// Requests that are answered, and news that come by themselves.

import type { Header, Message, Transport } from "./protocol";

type News = (header: Header, payload: ArrayBuffer) => void;

export class Client {
  private next = 1;
  private waiting = new Map<number, { resolve: (m: Message) => void; reject: (e: Error) => void }>();

  constructor(
    private transport: Transport,
    private news: News,
    onClose: (reason: string) => void,
  ) {
    transport.onMessage = (message) => this.receive(message);
    transport.onClose = (reason) => {
      for (const { reject } of this.waiting.values()) reject(new Error("the connection is closed"));
      this.waiting.clear();
      onClose(reason);
    };
  }

  /** Ask for something; what the user can mend is an error with a sentence. */
  ask(type: string, fields: Record<string, unknown> = {}, payload?: Uint8Array): Promise<Message> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.transport.send({ ...fields, type, id }, payload);
    });
  }

  acknowledge(frame: number): void {
    this.transport.send({ type: "ack", frame });
  }

  close(): void {
    this.transport.close();
  }

  private receive(message: Message): void {
    const { header, payload } = message;
    if (header.type !== "reply") {
      this.news(header, payload);
      return;
    }
    const asked = this.waiting.get(header.id);
    this.waiting.delete(header.id);
    if (header.error !== undefined) asked?.reject(new Error(header.error));
    else asked?.resolve(message);
  }
}

/** Runs one call at a time; of those that come meanwhile only the last is made. */
export function latest<T>(call: (value: T) => Promise<unknown>): (value: T) => void {
  let busy = false;
  let next: { value: T } | null = null;
  const run = async (value: T) => {
    busy = true;
    try {
      await call(value);
    } finally {
      busy = false;
      if (next) {
        const { value: following } = next;
        next = null;
        void run(following);
      }
    }
  };
  return (value) => {
    if (busy) next = { value };
    else void run(value);
  };
}
