import { usageError } from '../errors.ts';
import { invalidNameReason, isCredential } from './header-form.ts';
import type { PickedProfile } from './pick-profile.ts';
import { Secret } from './secret.ts';
import type { SettingsInput, SettingsSurvey } from './settings.ts';
import { fromEnvironment, fromFlag, mapValue, sourced } from './sources.ts';
import { authForms } from './types.ts';
import type { AuthForm, AuthUse, Header, HeaderNames, Sourced, Use } from './types.ts';

const authUseOf: { [use in Use]: AuthUse } = { text: 'text', image: 'image', edit: 'image', chat: 'messages' };

/** The form of authentication: `--auth`, GATEWAY_AUTH, the profile's for this use, else auto. Throws usage. */
export function pickAuth({ flags, env, use }: SettingsInput, picked: PickedProfile | undefined): Sourced<AuthForm> {
  const given = fromFlag('--auth', flags.auth) ?? fromEnvironment(env, 'GATEWAY_AUTH');
  const form = mapValue(given, (text, from) => {
    const known = authForms.find((form) => form === text);
    if (known === undefined) throw usageError(`${from}: must be one of ${authForms.join(', ')}`);
    return known;
  });
  return (
    form ?? sourced(picked?.profile.auth?.[authUseOf[use]], picked?.label ?? '') ?? { value: 'auto', from: 'default' }
  );
}

/** The real names behind vendor-a and vendor-b, each from the strongest place that names it. Throws usage. */
export function pickHeaderNames(
  { flags, env }: SettingsInput,
  picked: PickedProfile | undefined,
): SettingsSurvey['headerNames'] {
  const places = [
    mapValue(fromFlag('--header-names', flags.headerNames), parseHeaderNames),
    mapValue(fromEnvironment(env, 'GATEWAY_HEADER_NAMES'), parseHeaderNames),
    sourced(picked?.profile.headerNames, picked?.label ?? ''),
  ].filter((place) => place !== undefined);
  const nameOf = (key: keyof HeaderNames): Sourced<string> | undefined => {
    const place = places.find(({ value }) => value[key] !== undefined);
    return sourced(place?.value[key]?.toLowerCase(), place?.from ?? '');
  };
  return { apiKey: nameOf('apiKey'), version: nameOf('version') };
}

/** Reads `<content-key>,<version>`; either side may be empty. */
function parseHeaderNames(text: string, from: string): HeaderNames {
  const [apiKey = '', version = '', ...more] = text.split(',').map((name) => name.trim());
  const given = [apiKey, version].filter((name) => name !== '');
  if (more.length > 0 || given.length === 0)
    throw usageError(
      `${from}: must be <content-key>,<version>`,
      'for example --header-names x-goog-api-key,anthropic-version',
    );
  for (const name of given) {
    const reason = invalidNameReason(name);
    if (reason !== undefined) throw usageError(`${from}: ${JSON.stringify(name.slice(0, 64))} ${reason}`);
  }
  return { ...(apiKey !== '' && { apiKey }), ...(version !== '' && { version }) };
}

/** The flags' headers, and those of the profile that owns the base URL's origin; a flag replaces a profile's header. */
export function pickHeaders(flags: readonly Header[], owner: PickedProfile | undefined): Sourced<Header>[] {
  const fromProfile = Object.entries(owner?.profile.headers ?? {}).map(([name, value]) => {
    const secret = isCredential(name, value) ? new Secret(value) : value;
    return [
      name.toLowerCase(),
      { value: { name: name.toLowerCase(), value: secret }, from: owner?.label ?? '' },
    ] as const;
  });
  const fromFlags = flags.map((header) => [header.name, { value: header, from: 'flag --header' }] as const);
  return [...new Map<string, Sourced<Header>>([...fromProfile, ...fromFlags]).values()];
}
