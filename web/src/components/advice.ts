// What to do about data that a recording does not have: said under the reason wherever nothing can be shown.
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /\b(kernels?|device work|matched to its launch|idle for longer)\b/i,
    'To see the device, record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], or the whole program with `kino record`. Operators, the timeline and the flame graph work without.',
  ],
  [
    /\b(steps?|annotation) (annotations|does not|are not)|no steps|have no steps|has no steps/i,
    'To see steps, call prof.step() after each iteration, or mark them with record_function("ProfilerStep#1").',
  ],
  [
    /\bmemory\b/i,
    'To see memory, record with profile_memory=True (and record_shapes=True, with_stack=True for operators and stack traces).',
  ],
  [/\b(shapes|costs|FLOPs)\b/i, 'To see costs, record with record_shapes=True.'],
  [/\b(module|call stacks)/i, 'To see modules and call stacks, record with with_stack=True.'],
  [
    /\b(collectives?|communication|compares workers|process groups?)\b/i,
    'To compare ranks, record every rank into one folder, such as with torch.profiler.tensorboard_trace_handler, and open that folder.',
  ],
];

/** Null: nothing can be done. */
export const adviceFor = (reason: string): string | null =>
  ADVICE.find(([about]) => about.test(reason))?.[1] ?? null;
