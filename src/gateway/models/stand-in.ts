/** Names of the vendors' models; the rest of a name is theirs to choose. */
const vendorModel = /^(?:claude|gemini|gemma|imagen)-./;

/** Whether a model is one that only a vendor has. */
export function isVendorModel(model: string): boolean {
  return vendorModel.test(model);
}

/** Whether a vendor's model draws: its name says so. */
export function drawsByName(model: string): boolean {
  return /^imagen-|-image\b/.test(model);
}
