/** A date or a number of a version, as vendors add it to the name of a model: `-20250929`, `@20250929`, `-2024-08-06`, `-05-20`, `-001`. */
const version = /^[-@](?:\d{3}|\d{6}|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}(?:-\d{4})?)$/;

/** Whether the name that a reply gives is that of the requested model: with a version behind it, or with a path before it. */
function isSameModel(requested: string, answered: string): boolean {
  const [asked, found] = [withoutPath(requested), withoutPath(answered)];
  return asked === found || (found.startsWith(asked) && version.test(found.slice(asked.length)));
}

/** Whether a vendor points the name at another model from time to time: an answer under another name is then no surprise. */
export function isMovingAlias(model: string): boolean {
  return model.endsWith('-latest');
}

/** The name of the model that answered, where it is another than the requested one. */
export function otherModel(requested: string, answered: string | undefined): string | undefined {
  if (answered === undefined || answered === '' || isSameModel(requested, answered)) return undefined;
  return answered;
}

function withoutPath(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1).toLowerCase();
}
