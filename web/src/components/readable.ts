// Names of kernels as people say them: of `void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, ...>(int, ...)` what is
// left is `vectorized_elementwise_kernel<CUDAFunctor_add…>`. Only names that look like a function of C++ change.

const OPEN = '<({[';
const CLOSE = '>)}]';

/** Places of a character outside of all brackets. */
function placesOutside(text: string, wanted: string): number[] {
  const places: number[] = [];
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const isArrow = text[i] === '>' && text[i - 1] === '-';
    if (depth === 0 && text.startsWith(wanted, i)) places.push(i);
    if (OPEN.includes(text[i]!)) depth++;
    else if (CLOSE.includes(text[i]!) && !isArrow) depth--;
  }
  return places;
}

function splitOutside(text: string, separator: string): string[] {
  const cuts = placesOutside(text, separator);
  return [...cuts, text.length].map((end, i) =>
    text.slice(i === 0 ? 0 : cuts[i - 1]! + separator.length, end),
  );
}

/** Types and helpers that kernels of all kinds share. */
const COMMON =
  /^(void|bool|char|short|int|long|unsigned|signed|float|double|half|__half|Half|BFloat16|__nv_bfloat16|complex|std|array|Array|integral_constant|true|false|const|\d.*|\w*OffsetCalculator\w*|\w+WithoutCast|\w+WithCast|default_\w+|policy\w*)?$/;

/** Without namespaces, template arguments and parameters: at::native::add<float>(int) is add. */
function bare(text: string): string {
  const cut = text.trim().replace(/^(const|unsigned|signed|enum|struct|class) /, '');
  const path = splitOutside(cut, '::').map((part) => part.replace(/[<({[].*$/s, '').replace(/[*& ]+$/, ''));
  return path.filter((part) => part !== '').at(-1) ?? '';
}

/** The functor, configuration or type that tells this kernel from others of its name. */
function telling(list: readonly string[]): string {
  const names = list.map(bare);
  const own = names.filter((name) => !COMMON.test(name));
  return (
    own.find((name) => /(Functor|Ops?)(_|$)/.test(name)) ??
    own[0] ??
    names.find((name) => /^[a-zA-Z_]/.test(name) && name !== 'true' && name !== 'false') ??
    ''
  );
}

/** Names of Python frames and operators have colons and brackets, too: only types and templates are of C++. */
const isFunction = (name: string): boolean =>
  name.startsWith('void ') ||
  (/<.*>/.test(name) && /::|\(.*\)$|\w<.*>$/.test(name) && !/^[\w./ -]+\(\d+\): /.test(name)) ||
  /^\w+\([\w:]+ ?[*&]?.*\)$/.test(name);

export function readable(name: string): string {
  if (name.length < 12 || !isFunction(name)) return name;
  const plain = name.replaceAll('(anonymous namespace)::', '').replace(/^void /, '');
  const round = placesOutside(plain, '(').filter((at) => at > 0);
  const head = round.length > 0 ? plain.slice(0, round[0]) : plain;
  const parts = splitOutside(head, '::');
  const last = parts.at(-1) ?? head;
  const at = last.indexOf('<');
  if (at < 0) return last.trim() || name;
  const base = last.slice(0, at);
  const list = splitOutside(last.slice(at + 1, last.lastIndexOf('>')), ',');
  const key = telling(list);
  const isWhole = list.length === 1 && list[0]!.trim() === key;
  return `${base}<${key}${isWhole ? '' : '…'}>`;
}
