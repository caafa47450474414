// What to do about what is missing.
import { expect, it } from 'vitest';
import { adviceFor } from '../src/components/advice';

it('each kind of missing data has its own advice', () => {
  const cases: [string, RegExp][] = [
    ['not available: the trace has no kernels', /ProfilerActivity\.CUDA/],
    ['No device work in this run.', /ProfilerActivity\.CUDA/],
    ['not available: the trace has no steps', /prof\.step\(\)/],
    ['memory not available: the trace has no memory events', /profile_memory=True/],
    ['modules not available: no module calls were recorded', /with_stack=True/],
    ['This page compares workers, and this run has only one.', /every rank into one folder/],
  ];
  for (const [reason, wanted] of cases) expect(adviceFor(reason), reason).toMatch(wanted);
  expect(adviceFor('No rows.')).toBe(null);
});
