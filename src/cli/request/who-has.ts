import type { Ask } from '../../formats/ask.ts';
import { formatFacts, formatNames } from '../../formats/format.ts';
import type { FormatName } from '../../formats/types.ts';
import { type ServiceName, services, type Use, vendorsOf } from '../../services.ts';

/** `--service openai has it`, or of a format that was named `the content format and the completions format have it`. */
export function whoHas(field: keyof Ask, isOfService: boolean, use: Use): string {
  const has = (name: FormatName): boolean => !formatFacts[name].lacks.includes(field);
  const hasAt = (name: ServiceName): boolean => {
    const { formats, quirks, isKeyless } = services[name];
    return has(formats[use] as FormatName) && !isKeyless && (field !== 'mask' || quirks.imagesOperation === true);
  };
  const having = isOfService
    ? vendorsOf(use).filter(hasAt)
    : formatNames.filter(has).map((name) => formatFacts[name].title);
  const names = new Intl.ListFormat('en-GB').format(having);
  return `${isOfService ? '--service ' : ''}${names} ${having.length > 1 ? 'have' : 'has'} it`;
}
