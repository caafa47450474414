// The theme's variables as numbers, by letting the browser paint them: whatever way a colour is written in,
// it works.
import { cssColor } from '../state';
import { makePalette, type Palette, type Rgb } from './colors';

export function readPalette(): Palette {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const c = canvas.getContext('2d', { willReadFrequently: true })!;
  const color = (name: string): Rgb => {
    c.fillStyle = '#888888';
    c.fillStyle = cssColor(name);
    c.fillRect(0, 0, 1, 1);
    const [r, g, b] = c.getImageData(0, 0, 1, 1).data;
    return [r!, g!, b!];
  };
  return makePalette(color, cssColor);
}
