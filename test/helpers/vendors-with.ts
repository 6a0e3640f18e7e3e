import { type Service, firstServiceNames, services } from '../../src/library/vendors/services.ts';

/** The names of the vendors in short lists of which something is true, in the words of a hint: `gemini, openai and openrouter`. */
export function vendorsWith(isTrue: (service: Service) => boolean): string {
  const names = firstServiceNames.filter((name) => name !== 'gateway' && isTrue(services[name]));
  return new Intl.ListFormat('en-GB').format(names);
}
