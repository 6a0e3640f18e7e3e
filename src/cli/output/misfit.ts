import type { WrittenImage } from '../context.ts';
import { GatewayError } from '../../errors.ts';
import { fitsAspect, matchesSize } from '../../images/aspect.ts';

/** In what a picture has not the asked shape: a warning, with `--strict` an error (deviation 42). Undefined where it fits. */
export function misfitOf(
  { path, width, height }: WrittenImage,
  { aspect, size }: { aspect?: string | undefined; size?: string | undefined },
): string | undefined {
  if (width === undefined || height === undefined) return undefined;
  const odd: string[] = [];
  if (aspect !== undefined && !fitsAspect({ width, height }, aspect)) odd.push(`not ${aspect}`);
  if (size !== undefined && matchesSize({ width, height }, size) === false) odd.push(`not ${size}`);
  return odd.length === 0 ? undefined : `${path} is ${width}×${height}, ${odd.join(' and ')}`;
}

/** How a run with `--strict` ends: all its misfits in one error. */
export function misfitError(misfits: readonly string[]): GatewayError | undefined {
  if (misfits.length === 0) return undefined;
  return new GatewayError('incomplete', misfits.join('; '), {
    hint: 'the files are kept; without --strict this is a warning',
    sent: 'yes',
  });
}
