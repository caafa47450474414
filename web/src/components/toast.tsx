// Short messages in the corner that go by themselves.
import { signal } from '@preact/signals';

interface Message {
  id: number;
  text: string;
  tone: 'plain' | 'bad';
}
const messages = signal<Message[]>([]);
let last = 0;

export function toast(text: string, tone: Message['tone'] = 'plain'): void {
  const id = ++last;
  messages.value = [...messages.value.filter((m) => m.text !== text), { id, text, tone }];
  setTimeout(
    () => (messages.value = messages.value.filter((m) => m.id !== id)),
    tone === 'bad' ? 8000 : 3500,
  );
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {messages.value.map((m) => (
        <div key={m.id} class={`toast toast-${m.tone}`}>
          {m.text}
        </div>
      ))}
    </div>
  );
}
