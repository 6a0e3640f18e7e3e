import { checkAddress } from '../doctor/address.ts';
import type { Config } from '../../settings/types.ts';
import type { Context } from '../../cli/context.ts';
import { hintOf } from '../../cli/output/flag-hints.ts';

/** Warns at once of a base URL that the first request would refuse: plain http to another machine, a query, a password. */
export async function warnOfAddress(config: Config, profile: string, { ui }: Context): Promise<void> {
  const { baseUrl, allowHttp = false } = config.profiles[profile] ?? {};
  if (baseUrl === undefined) return;
  const { check } = checkAddress({ value: baseUrl, from: 'baseUrl' }, { allowHttp, fixOf: hintOf });
  if (check.state === 'failed') await ui.warn(`no request will go there: ${check.text}; ${check.fix}`);
}
