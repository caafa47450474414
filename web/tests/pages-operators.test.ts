import { describe, expect, it } from 'vitest';
import { framesOf } from '../src/pages/operators/stacks';

describe('call stacks', () => {
  it('splits frames into file, line and function', () => {
    expect(framesOf('train.py(12): step;/usr/lib/nn(1).py(7): forward;')).toEqual([
      { text: 'train.py(12): step', file: 'train.py', line: 12, name: 'step' },
      { text: '/usr/lib/nn(1).py(7): forward', file: '/usr/lib/nn(1).py', line: 7, name: 'forward' },
    ]);
  });
  it('keeps frames of another form as they are', () => {
    expect(framesOf('nn.Module: Linear_3; <built-in method addmm>')).toEqual([
      { text: 'nn.Module: Linear_3', file: null, line: null, name: null },
      { text: '<built-in method addmm>', file: null, line: null, name: null },
    ]);
  });
  it('has no frames of an empty stack', () => {
    expect(framesOf('')).toEqual([]);
  });
});
