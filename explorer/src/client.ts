// Requests with their answers, and messages that come without a request.

import type { Header, Message, Transport } from "./protocol";

type Receive = (header: Header, payload: ArrayBuffer) => void;

const DISCONNECTED = "Disconnected. Reload the page to try again.";

export class Client {
  private next = 1;
  private closed = false;
  private waiting = new Map<number, { resolve: (m: Message) => void; reject: (e: Error) => void }>();

  constructor(
    private transport: Transport,
    private unasked: Receive,
    onClose: (reason: string) => void,
  ) {
    transport.onMessage = (message) => this.receive(message);
    transport.onClose = (reason) => {
      this.closed = true;
      for (const { reject } of this.waiting.values()) reject(new Error(DISCONNECTED));
      this.waiting.clear();
      onClose(reason);
    };
  }

  /** Send a request; what the user can fix is rejected with a sentence. */
  ask(type: string, fields: Record<string, unknown> = {}, payload?: Uint8Array): Promise<Message> {
    if (this.closed) return Promise.reject(new Error(DISCONNECTED)); // nothing would ever answer
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
      this.unasked(header, payload);
      return;
    }
    const asked = this.waiting.get(header.id);
    this.waiting.delete(header.id);
    if (header.error !== undefined) asked?.reject(new Error(header.error));
    else asked?.resolve(message);
  }
}

/** Makes one call at a time; of the calls that are asked for meanwhile, only the last is made. */
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
