// Messages: the length of a header, the header as JSON, and bytes from a multiple of 8 on.

export type Header = Record<string, any> & { type: string };

export interface Message {
  header: Header;
  payload: ArrayBuffer;
}

/** What carries messages: a websocket, or the connection of a notebook. */
export interface Transport {
  send(header: Header, payload?: Uint8Array): void;
  onMessage: (message: Message) => void;
  onClose: (reason: string) => void;
  close(): void;
}

export function pack(header: Header, payload?: Uint8Array): Uint8Array<ArrayBuffer> {
  const words = new TextEncoder().encode(JSON.stringify(header));
  const room = words.length + ((8 - ((words.length + 4) % 8)) % 8);
  const message = new Uint8Array(4 + room + (payload?.length ?? 0));
  new DataView(message.buffer).setUint32(0, room, true);
  message.fill(32, 4, 4 + room);
  message.set(words, 4);
  if (payload) message.set(payload, 4 + room);
  return message;
}

export function unpack(data: ArrayBuffer): Message {
  const room = new DataView(data).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, room)));
  return { header, payload: data.slice(4 + room) };
}

/** The page's own connection to the server that served it. */
export function connectSocket(): Transport {
  const address = new URL("socket", location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  const waiting: Uint8Array<ArrayBuffer>[] = [];
  const transport: Transport = {
    send(header, payload) {
      const message = pack(header, payload);
      if (socket.readyState === WebSocket.CONNECTING) waiting.push(message);
      else if (socket.readyState === WebSocket.OPEN) socket.send(message);
    },
    onMessage: () => {},
    onClose: () => {},
    close: () => socket.close(),
  };
  socket.onopen = () => waiting.forEach((message) => socket.send(message));
  socket.onmessage = (event) => transport.onMessage(unpack(event.data));
  socket.onclose = (event) => transport.onClose(event.reason);
  return transport;
}
