// One tooltip for the whole page: any element with data-tip shows it on hover and on keyboard focus.
// Charts and tables only set the attribute; text is set as text, so names from traces are harmless.

const delay = 250;

export function startTooltips(): void {
  const box = document.createElement('div');
  box.className = 'tooltip';
  box.setAttribute('role', 'tooltip');
  box.hidden = true;
  document.body.append(box);
  let owner: Element | null = null;
  let timer = 0;

  const hide = () => {
    clearTimeout(timer);
    owner = null;
    box.hidden = true;
  };
  const place = (x: number, y: number) => {
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const left = Math.max(4, Math.min(x + 12, innerWidth - width - 8));
    const below = y + 18 + height < innerHeight;
    box.style.left = `${left}px`;
    box.style.top = `${below ? y + 18 : Math.max(4, y - height - 10)}px`;
  };
  const show = (element: Element, x: number, y: number) => {
    const text = element.getAttribute('data-tip');
    if (!text) return hide();
    // A modal dialog lies above everything else: its tooltips must be inside it.
    const host = element.closest('dialog') ?? document.body;
    if (box.parentNode !== host) host.append(box);
    box.textContent = text;
    place(x, y);
  };

  document.addEventListener('pointermove', (event) => {
    const target = (event.target as Element | null)?.closest?.('[data-tip]') ?? null;
    if (target !== owner) {
      hide();
      owner = target;
    }
    if (!target) return;
    if (!box.hidden) return show(target, event.clientX, event.clientY);
    clearTimeout(timer);
    // Charts answer at once; tables and heads wait until the pointer rests.
    const wait = target instanceof SVGElement ? 0 : delay;
    timer = window.setTimeout(() => owner === target && show(target, event.clientX, event.clientY), wait);
  });
  document.addEventListener('focusin', (event) => {
    const target = event.target as Element | null;
    if (!target?.matches?.('[data-tip]:focus-visible')) return;
    const at = target.getBoundingClientRect();
    owner = target;
    show(target, at.left, at.bottom - 12);
  });
  document.addEventListener('focusout', hide);
  document.addEventListener('scroll', hide, true);
  document.addEventListener('pointerdown', hide);
  document.addEventListener('keydown', (event) => event.key === 'Escape' && hide());
}
