// The explorer in a cell of a notebook: messages go over the notebook's own connection.

import { App } from "./app";
import type { Transport } from "./protocol";

interface Model {
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(name: string, act: (content: any, buffers: DataView[]) => void): void;
  off(name: string, act: (content: any, buffers: DataView[]) => void): void;
}

function connectModel(model: Model): Transport {
  const receive = (content: any, buffers: DataView[]) => {
    const view = buffers[0];
    const payload = view
      ? (view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) as ArrayBuffer)
      : new ArrayBuffer(0);
    transport.onMessage({ header: content, payload });
  };
  const transport: Transport = {
    send(header, payload) {
      model.send(header, undefined, payload ? [payload.slice().buffer as ArrayBuffer] : []);
    },
    onMessage: () => {},
    onClose: () => {},
    close() {
      model.send({ type: "close" });
      model.off("msg:custom", receive);
    },
  };
  model.on("msg:custom", receive);
  return transport;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const transport = connectModel(model);
  const app = new App(transport);
  app.element.classList.add("ck-widget");
  el.append(app.element);
  transport.send({ type: "open" });
  return () => app.dispose();
}

export default { render };
