// From the map to the screen and back.

export interface Box {
  low: [number, number];
  high: [number, number];
}

export class Camera {
  x = 0;
  y = 0;
  /** Pixels per unit of the map. */
  scale = 1;
  width = 1;
  height = 1;
  /** Whether the camera follows the map; until the user moves it. */
  follows = true;
  /** The map's box, where the camera is going while it follows. */
  target: Box | null = null;

  /** Pixels per unit at which a box fills the screen. */
  scaleOf({ low, high }: Box): number {
    return 0.92 * Math.min(this.width / (high[0] - low[0] || 1), this.height / (high[1] - low[1] || 1));
  }

  /** Go towards a view of the whole box, or there at once; return whether it is reached. */
  fit(box: Box, share = 1): boolean {
    const scale = this.scaleOf(box);
    const [dx, dy] = [
      (box.low[0] + box.high[0]) / 2 - this.x,
      (box.low[1] + box.high[1]) / 2 - this.y,
    ];
    const zoom = scale / this.scale;
    const near = Math.hypot(dx, dy) * scale < 0.5 && Math.abs(zoom - 1) < 0.002;
    if (near) share = 1;
    this.x += share * dx;
    this.y += share * dy;
    this.scale *= Math.pow(zoom, share);
    return near || share === 1;
  }

  toScreen(x: number, y: number): [number, number] {
    return [
      this.width / 2 + (x - this.x) * this.scale,
      this.height / 2 - (y - this.y) * this.scale,
    ];
  }

  toMap(x: number, y: number): [number, number] {
    return [
      this.x + (x - this.width / 2) / this.scale,
      this.y - (y - this.height / 2) / this.scale,
    ];
  }

  pan(dx: number, dy: number): void {
    this.arrive();
    this.x -= dx / this.scale;
    this.y += dy / this.scale;
  }

  /** Zoom by a factor, so that what is at a place of the screen stays there. */
  zoom(factor: number, x = this.width / 2, y = this.height / 2): void {
    this.arrive();
    const [before, above] = this.toMap(x, y);
    this.scale *= factor;
    const [after, below] = this.toMap(x, y);
    this.x += before - after;
    this.y += above - below;
  }

  /** The user takes over: from where the camera is going, not from somewhere on the way. */
  private arrive(): void {
    if (this.follows && this.target) this.fit(this.target);
    this.follows = false;
  }
}
