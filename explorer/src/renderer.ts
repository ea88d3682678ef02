// Draws points: on the graphics card, or, where there is none, pixel by pixel.

import type { Camera } from "./camera";
import { frameOf, type Positions } from "./positions";

export interface Renderer {
  readonly kind: "webgl" | "canvas";
  /** Take a new map; points will move from the last one to it. */
  setPositions(positions: Positions): void;
  setColors(colors: Uint8Array): void;
  /** Draw `share` of the way from the last map to the new one. */
  draw(camera: Camera, share: number, size: number): void;
  resize(width: number, height: number): void;
  dispose(): void;
}

/** The diameter of points in pixels of the screen, so that they cover a share of it. */
export function pointSize(count: number, camera: Camera, fitScale: number): number {
  const area = 0.22 * camera.width * camera.height;
  const zoomed = Math.sqrt(Math.max(1, camera.scale / (fitScale || 1)));
  return Math.min(Math.max(1.3, Math.sqrt(area / count)) * zoomed, 14, 5 * zoomed + 2);
}

const VERTEX = `#version 300 es
in vec2 before; in vec2 after; in vec4 color;
uniform vec4 frameBefore, frameAfter; // scale and offset of the stored numbers
uniform vec4 view;                    // scale and offset to the screen
uniform float share, size;
out vec4 shade;
void main() {
  vec2 place = mix(before * frameBefore.xy + frameBefore.zw,
                   after * frameAfter.xy + frameAfter.zw, share);
  gl_Position = vec4(place * view.xy + view.zw, 0.0, 1.0);
  gl_PointSize = size;
  shade = color;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 shade; uniform float size; out vec4 result;
void main() {
  float edge = size * (0.5 - length(gl_PointCoord - 0.5));
  if (edge <= 0.0) discard;
  float opacity = shade.a * clamp(edge + 0.3, 0.0, 1.0);
  result = vec4(shade.rgb * opacity, opacity);
}`;

/** Two buffers of positions, between which the graphics card interpolates. */
class WebGLRenderer implements Renderer {
  readonly kind = "webgl";
  private program: WebGLProgram;
  private buffers: [WebGLBuffer, WebGLBuffer];
  private held: [Positions | null, Positions | null] = [null, null];
  private colors: WebGLBuffer;
  private order: WebGLBuffer;
  private ordered = 0;
  private painted = 0;

  constructor(
    private canvas: HTMLCanvasElement,
    private gl: WebGL2RenderingContext,
  ) {
    this.program = link(gl);
    this.buffers = [gl.createBuffer()!, gl.createBuffer()!];
    this.colors = gl.createBuffer()!;
    this.order = gl.createBuffer()!;
    gl.useProgram(this.program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  setPositions(positions: Positions): void {
    const gl = this.gl;
    this.buffers.reverse();
    this.held.reverse();
    this.held[1] = positions;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[1]);
    gl.bufferData(gl.ARRAY_BUFFER, positions.data, gl.STREAM_DRAW);
    if (this.held[0]?.count !== positions.count) this.held[0] = null;
    if (this.ordered !== positions.count) this.shuffle(positions.count);
  }

  setColors(colors: Uint8Array): void {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colors);
    gl.bufferData(gl.ARRAY_BUFFER, colors, gl.DYNAMIC_DRAW);
    this.painted = colors.length / 4;
  }

  draw(camera: Camera, share: number, size: number): void {
    const gl = this.gl;
    const [before, after] = this.held;
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!after || this.painted !== after.count) return;
    this.feed("before", before ? 0 : 1, before ?? after);
    this.feed("after", 1, after);
    const color = gl.getAttribLocation(this.program, "color");
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colors);
    gl.enableVertexAttribArray(color);
    gl.vertexAttribPointer(color, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    const uniform = (name: string) => gl.getUniformLocation(this.program, name);
    gl.uniform4fv(uniform("frameBefore"), frameOf(before ?? after));
    gl.uniform4fv(uniform("frameAfter"), frameOf(after));
    const [sx, sy] = [(2 * camera.scale) / camera.width, (2 * camera.scale) / camera.height];
    gl.uniform4f(uniform("view"), sx, sy, -camera.x * sx, -camera.y * sy);
    gl.uniform1f(uniform("share"), share);
    gl.uniform1f(uniform("size"), size * (this.canvas.width / camera.width));
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
    gl.drawElements(gl.POINTS, after.count, gl.UNSIGNED_INT, 0);
  }

  resize(width: number, height: number): void {
    this.canvas.width = width;
    this.canvas.height = height;
    this.gl.viewport(0, 0, width, height);
  }

  dispose(): void {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  private feed(name: string, which: 0 | 1, positions: Positions): void {
    const gl = this.gl;
    const place = gl.getAttribLocation(this.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[which]);
    gl.enableVertexAttribArray(place);
    const type = positions.data instanceof Float32Array ? gl.FLOAT : gl.UNSIGNED_SHORT;
    gl.vertexAttribPointer(place, 2, type, false, 0, 0);
  }

  /** An order in which no class covers another, the same every time. */
  private shuffle(count: number): void {
    const gl = this.gl;
    const order = Uint32Array.from({ length: count }, (_, i) => i);
    let seed = 1;
    for (let i = count - 1; i > 0; i--) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const j = seed % (i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
    this.ordered = count;
  }
}

function link(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram()!;
  for (const [type, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(type)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    throw new Error(gl.getProgramInfoLog(program) ?? "the shaders do not link");
  }
  return program;
}

/** Pixel by pixel into an image, for machines without WebGL. */
class CanvasRenderer implements Renderer {
  readonly kind = "canvas";
  private held: [Positions | null, Positions | null] = [null, null];
  private colors = new Uint8Array();
  private image: ImageData | null = null;

  constructor(
    private canvas: HTMLCanvasElement,
    private context: CanvasRenderingContext2D,
  ) {}

  setPositions(positions: Positions): void {
    const last = this.held[1];
    this.held = [last?.count === positions.count ? last : null, positions];
  }

  setColors(colors: Uint8Array): void {
    this.colors = colors;
  }

  draw(camera: Camera, share: number, size: number): void {
    const [before, after] = this.held;
    const { width, height } = this.canvas;
    this.image ??= new ImageData(Math.max(1, width), Math.max(1, height));
    const pixels = this.image.data;
    pixels.fill(0);
    if (after && this.colors.length === 4 * after.count) {
      const ratio = width / camera.width;
      const side = Math.max(1, Math.round(size * ratio * 0.85));
      const [ax, ay, bx, by] = frameOf(after);
      const old = before ?? after;
      const [cx, cy, dx, dy] = frameOf(old);
      const scale = camera.scale * ratio;
      for (const faint of [true, false]) {
        for (let i = 0; i < after.count; i++) {
          if (this.colors[4 * i + 3] < 128 !== faint) continue;
          const nx = after.data[2 * i] * ax + bx;
          const ny = after.data[2 * i + 1] * ay + by;
          const ox = old.data[2 * i] * cx + dx;
          const oy = old.data[2 * i + 1] * cy + dy;
          const x = Math.round(width / 2 + (ox + share * (nx - ox) - camera.x) * scale - side / 2);
          const y = Math.round(height / 2 - (oy + share * (ny - oy) - camera.y) * scale - side / 2);
          if (x < 0 || y < 0 || x + side > width || y + side > height) continue;
          this.square(pixels, width, x, y, side, 4 * i);
        }
      }
    }
    this.context.putImageData(this.image, 0, 0);
  }

  resize(width: number, height: number): void {
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = null;
  }

  dispose(): void {}

  private square(
    pixels: Uint8ClampedArray,
    width: number,
    x: number,
    y: number,
    side: number,
    color: number,
  ): void {
    for (let row = y; row < y + side; row++) {
      for (let at = 4 * (row * width + x), end = at + 4 * side; at < end; at += 4) {
        pixels[at] = this.colors[color];
        pixels[at + 1] = this.colors[color + 1];
        pixels[at + 2] = this.colors[color + 2];
        pixels[at + 3] = this.colors[color + 3];
      }
    }
  }
}

export function makeRenderer(canvas: HTMLCanvasElement): Renderer {
  const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
  if (gl) {
    try {
      return new WebGLRenderer(canvas, gl);
    } catch {
      // Below, on a canvas that has no context yet.
    }
  }
  const plain = canvas.cloneNode() as HTMLCanvasElement;
  canvas.replaceWith(plain);
  return new CanvasRenderer(plain, plain.getContext("2d")!);
}
