import {
  type FormatName,
  formatNames,
  getQuirks,
  isOpenAiFormat,
  loadFormat,
  type ServiceName,
  services,
} from '../../../library/index.ts';
import type { ServiceFormats } from '../../../gateway/index.ts';

interface AnsweringService {
  service: ServiceName;
  baseUrl: string | undefined;
  /** The format in which texts are requested. */
  format: FormatName;
  /** The format that the profile sets, if it sets one. */
  ownFormat: FormatName | undefined;
}

/** The formats of the service that answers; undefined for a gateway of all formats, to which every request goes as it is. */
export async function findServiceFormats({
  service,
  baseUrl,
  format,
  ownFormat,
}: AnsweringService): Promise<ServiceFormats | undefined> {
  if (service === 'gateway' && ownFormat === undefined) return undefined;
  const own = service === 'gateway' ? [format] : [format, ...Object.values(services[service].formats)];
  // A service with one of OpenAI's formats has the other one too, or its refusal says that it does not.
  const formats = own.some(isOpenAiFormat) ? [...own, ...formatNames.filter(isOpenAiFormat)] : own;
  return { formats, format: await loadFormat(format), quirks: getQuirks(service, format, baseUrl) };
}
