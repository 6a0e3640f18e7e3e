/** The name of a file or a folder that is not finished; the nonce is nobody else's. */
export function partName(nonce: string): string {
  return `.gateway-cli-${nonce}.part`;
}

/** Whether a name is one of those with a random nonce: nobody but who holds the folder writes them. */
export function isPartName(name: string): boolean {
  return /^\.gateway-cli-[0-9a-f]{24}\.part$/.test(name);
}
