import { type Service, serviceNames, services } from '../../src/vendors/services.ts';

/** The names of the vendors of which something is true, in the words of a hint: `gemini, openai and openrouter`. */
export function vendorsWith(isTrue: (service: Service) => boolean): string {
  const names = serviceNames.filter((name) => name !== 'gateway' && isTrue(services[name]));
  return new Intl.ListFormat('en-GB').format(names);
}
