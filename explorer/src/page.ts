// The explorer as a page of its own.

import { App } from "./app";
import { connectSocket } from "./protocol";

const app = new App(connectSocket());
document.getElementById("explorer")!.replaceWith(app.element);
