import { nat, string } from 'fast-check';

/** Texts of any characters, half surrogate pairs too. fast-check's own unit for that takes seconds to build its table. */
export const anyText = string({ unit: nat(0x10ffff).map((code) => String.fromCodePoint(code)) });
