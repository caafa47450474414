// The flame graph on a canvas: drawn upside down (icicle), zoomed by click, moved through by keys.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useSize } from '../../components';
import { cssColor, isDark } from '../../state';
import { boxAt, type Flame } from './model';

const rowHeight = 20;

interface CanvasProps {
  flame: Flame;
  /** The stretch that fills the width, and boxes that fill it whatever their own stretch. */
  from: number;
  to: number;
  pinned: ReadonlySet<number>;
  onFocus: (box: number) => void;
  found: Uint8Array;
  searching: boolean;
  describe: (box: number) => string;
}

export function FlameCanvas({ flame, from, to, pinned, onFocus, found, searching, describe }: CanvasProps) {
  const holder = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const { width } = useSize(holder);
  const [active, setActive] = useState(-1);
  const dark = isDark.value;
  const height = Math.max(1, flame.levels) * rowHeight + 4;

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || width === 0) return;
    const ratio = devicePixelRatio || 1;
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const colors = Array.from({ length: 15 }, (_, i) => cssColor(`--cat-${i}`));
    const [ink, faint, accent, line] = [
      cssColor('--cat-text'),
      cssColor('--rest'),
      cssColor('--accent'),
      cssColor('--panel'),
    ];
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const letter = context.measureText('abcdefghijklmnopqrstuvwxyz_.:()').width / 31;
    const scale = width / (to - from || 1);
    for (let i = 0; i < flame.count; i++) {
      const whole = pinned.has(i);
      const x = whole ? 0 : (flame.left[i]! - from) * scale;
      const w = whole ? width : flame.total[i]! * scale;
      if (w < 0.4 || x > width || x + w < 0) continue;
      const y = flame.depth[i]! * rowHeight;
      context.globalAlpha = whole ? 0.55 : searching && !found[i] ? 0.3 : 1;
      context.fillStyle = searching && !found[i] ? faint : colors[flame.kind[i]!]!;
      context.fillRect(x, y, Math.max(0.5, w), rowHeight - 1);
      context.globalAlpha = 1;
      if (w > 3) {
        context.fillStyle = line;
        context.fillRect(x + w - 0.5, y, 0.5, rowHeight - 1);
      }
      if (i === active) {
        context.strokeStyle = accent;
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, Math.max(1, w - 2), rowHeight - 3);
      }
      const start = Math.max(0, x);
      const room = Math.min(width, x + w) - start - 8;
      if (room > 22) {
        const letters = Math.floor(room / (letter * 1.04));
        const name = flame.name[i]!;
        context.fillStyle = searching && !found[i] ? cssColor('--text') : ink;
        context.fillText(
          name.length > letters ? `${name.slice(0, Math.max(1, letters - 1))}…` : name,
          start + 4,
          y + rowHeight / 2,
        );
      }
    }
  }, [flame, from, to, pinned, width, found, searching, active, dark]);

  const hit = (event: MouseEvent): number => {
    const box = canvas.current!.getBoundingClientRect();
    const depth = Math.floor((event.clientY - box.top) / rowHeight);
    for (const a of pinned) if (flame.depth[a] === depth) return a;
    return boxAt(flame, from + ((event.clientX - box.left) / width) * (to - from), depth);
  };
  const show = (event: MouseEvent) => {
    const element = tip.current!;
    const box = hit(event);
    element.hidden = box < 0;
    if (box < 0) return;
    element.textContent = describe(box);
    const { width: w, height: h } = element.getBoundingClientRect();
    element.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - w - 8))}px`;
    const below = event.clientY + 20 + h < innerHeight;
    element.style.top = `${below ? event.clientY + 18 : event.clientY - h - 10}px`;
  };
  const step = (key: string): number => {
    if (active < 0) return 0;
    if (key === 'ArrowUp') return flame.parent[active]! >= 0 ? flame.parent[active]! : active;
    if (key === 'ArrowDown') return flame.parent.indexOf(active) >= 0 ? flame.parent.indexOf(active) : active;
    const way = key === 'ArrowRight' ? 1 : -1;
    for (let i = active + way; i >= 0 && i < flame.count; i += way)
      if (flame.depth[i] === flame.depth[active]) return i;
    return active;
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key.startsWith('Arrow')) setActive(step(event.key));
    else if (event.key === 'Enter' && active >= 0) onFocus(active);
    else if (event.key === 'Escape') onFocus(-1);
    else return;
    event.preventDefault();
  };
  return (
    <div
      class="flame"
      tabIndex={0}
      role="application"
      aria-label="Flame graph: arrow keys move, Enter zooms, Escape shows all"
      onKeyDown={onKey}>
      <div class="flame-holder" ref={holder} style={{ height: `${height}px` }}>
        <canvas
          ref={canvas}
          style={{ width: `${width}px`, height: `${height}px` }}
          onMouseMove={show}
          onMouseLeave={() => (tip.current!.hidden = true)}
          onClick={(e) => {
            const box = hit(e);
            setActive(box);
            if (box >= 0) onFocus(box);
          }}
          onDblClick={() => onFocus(-1)}
        />
      </div>
      <div class="tooltip" hidden ref={tip} />
      <p class="visually-hidden" aria-live="polite">
        {active >= 0 && active < flame.count ? describe(active) : ''}
      </p>
    </div>
  );
}
