import { GatewayError } from '../../errors.ts';
import { parseBaseUrl, requireSafeUrl } from '../../transport/url.ts';
import type { Check } from './types.ts';
import { shellWord } from '../../shell-word.ts';

/** Reads a base URL as a request would; undefined where it is none, or where no key would be sent to it. */
export function checkAddress(
  { value, from }: { value: string; from: string },
  { allowHttp, fixOf }: { allowHttp: boolean; fixOf(error: GatewayError): string | undefined },
): { url: URL | undefined; check: Check } {
  const name = 'base URL';
  try {
    const { url, warnings } = parseBaseUrl(value);
    requireSafeUrl(url, { allowHttp, hasKey: true });
    const [warning] = warnings;
    const fix = `gateway-cli config set baseUrl ${shellWord(url.href)}`;
    if (warning !== undefined) return { url, check: { name, state: 'warning', text: warning, fix } };
    return { url, check: { name, state: 'ok', text: `${url.href} (${from})` } };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return {
      url: undefined,
      check: { name, state: 'failed', class: error.class, text: `${error.message} (${from})`, fix: fixOf(error) },
    };
  }
}
