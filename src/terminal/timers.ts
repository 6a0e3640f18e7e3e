/** Runs something later; what it returns calls that off. */
export type After = (ms: number, act: () => void) => () => void;

/** The real clock. A timer alone never keeps the process alive. */
export const afterOnClock: After = (ms, act) => {
  const timer = setTimeout(act, ms).unref();
  return () => clearTimeout(timer);
};
