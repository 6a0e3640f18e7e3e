/** Flags that the exit code of a fault holds with. */
export const faultFlags: Readonly<Record<string, string>> = {
  'fault-hang': '--timeout 2',
  'fault-stall': '--timeout 2',
  'fault-max-tokens': '--require-complete',
  'fault-fewer-images': '--candidates 2',
};
