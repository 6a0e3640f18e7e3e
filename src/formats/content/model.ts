import { usageError } from '../../errors.ts';

/** One encoded path segment for a model, a leading `models/` removed. Throws usage for what could leave the segment. */
export function modelSegment(model: string): string {
  const name = model.startsWith('models/') ? model.slice('models/'.length) : model;
  if (name === '') throw usageError('the model is empty', 'name a model');
  const problem = problemOf(name);
  if (problem) throw usageError(`the model may not ${problem}`, 'check the model');
  try {
    return encodeURIComponent(name);
  } catch (error) {
    throw usageError('the model holds half a character', 'check the model', error);
  }
}

/** Path of the content format's operation (formats 1). Throws usage like modelSegment. */
export function contentPath(model: string): string {
  return `/v1beta/models/${modelSegment(model)}:generateContent`;
}

function problemOf(name: string): string | undefined {
  if (/\p{Cc}/u.test(name)) return 'hold control characters';
  if (name.includes('?') || name.includes('#')) return "hold '?' or '#'";
  if (name.split(/[/\\]/).some((piece) => piece === '.' || piece === '..')) return "hold '.' or '..' as a path segment";
  return undefined;
}
