import {
  type FormatName,
  formatNames,
  getQuirks,
  isOpenAiFormat,
  loadFormat,
  type ServiceName,
  services,
} from '../../../library/index.ts';
import type { Spoken } from '../../../gateway/index.ts';

/** The service that answers, the format that a profile sets for it, and the format in which texts are requested. */
interface Speaker {
  service: ServiceName;
  ownFormat: FormatName | undefined;
  format: FormatName;
  baseUrl: string | undefined;
}

/** The formats of a service; undefined for a gateway of all formats, to which every request goes as it is. */
export async function chooseSpoken({ service, ownFormat, format, baseUrl }: Speaker): Promise<Spoken | undefined> {
  if (service === 'gateway' && ownFormat === undefined) return undefined;
  const own = service === 'gateway' ? [format] : [format, ...Object.values(services[service].formats)];
  // A service with one of OpenAI's formats has the other one too, or its refusal says that it does not.
  const formats = own.some(isOpenAiFormat) ? [...own, ...formatNames.filter(isOpenAiFormat)] : own;
  return { formats, format: await loadFormat(format), quirks: getQuirks(service, format, baseUrl) };
}
