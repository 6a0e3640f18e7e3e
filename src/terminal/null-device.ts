import { statSync } from 'node:fs';

/** The device number of /dev/null, where there is one. */
export function nullDevice(): number | undefined {
  return statSync('/dev/null', { throwIfNoEntry: false })?.rdev;
}
