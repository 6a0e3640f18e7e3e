import { usageError } from '../errors.ts';

/** The names that a profile can have. Those that every object knows are left out. */
export const profileNameForm = /^(?!(?:constructor|prototype)$)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** The same in words. */
export const profileNameRule = 'use letters, digits, ".", "_" and "-", a letter or digit first';

/** Throws usage unless it may name a profile. */
export function requireProfileName(name: string): string {
  if (profileNameForm.test(name)) return name;
  throw usageError(`${JSON.stringify(name.slice(0, 64))} cannot name a profile`, profileNameRule);
}
