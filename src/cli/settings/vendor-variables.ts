import { fillTemplate, type ServiceName, serviceNames, services, usageError } from '../../library/index.ts';
import { type Environment, findFirstVariable, fromEnvironment, mapValue, parseSettingValue } from './sources.ts';
import { settings } from './table.ts';
import type { Origin, SettingsInput, SourcedValue, SourcedVariable } from './types.ts';

// Variables that the tools of the vendors read too. Each belongs to its service.

/** The variables of a service's key. With `_FILE` after its name, one holds the path of a file with the key. */
export function keyNames(service: ServiceName): string[] {
  return services[service].keyVariables.flatMap((name) => [name, `${name}_FILE`]);
}

/** The first variable of a service's key that is set: the key, or the path of its file. */
export function vendorKey(env: Environment, service: ServiceName): SourcedVariable | undefined {
  return findFirstVariable(env, keyNames(service));
}

/** Whether a key comes from a variable that holds a token of the service. */
export function holdsToken(origin: Origin, service: ServiceName): boolean {
  const { tokenVariables = [] } = services[service];
  return origin.kind === 'variable' && tokenVariables.includes(origin.name.replace(/_FILE$/, ''));
}

/** The headers of the service's account that variables hold, by their names. */
export function vendorHeaders(env: Environment, service: ServiceName): SourcedValue<Record<string, string>>[] {
  return Object.entries(services[service].headerVariables ?? {}).flatMap(
    ([name, variable]) => mapValue(fromEnvironment(env, variable), (value) => ({ [name]: value.trim() })) ?? [],
  );
}

/**
 * The services whose key a variable holds or names. A service without a default model counts only if no other service has a key:
 * its key alone is not enough to answer. A key that opens other things too counts only if there is no other key.
 */
export function keysIn(env: Environment): { name: ServiceName; variable: string }[] {
  const found = serviceNames.flatMap((name) => {
    const key = vendorKey(env, name);
    return key === undefined ? [] : [{ name, variable: key.origin.name }];
  });
  const ranks = [
    found.filter(({ name }) => services[name].models.text !== undefined),
    found.filter(({ name }) => !services[name].hasWideKey),
  ];
  return ranks.find((services) => services.length > 0) ?? found;
}

/** The service if nothing names one: the only service whose key is in a variable. */
export function findServiceByKey({ env }: Pick<SettingsInput, 'env'>): SourcedValue<ServiceName> | undefined {
  const [found, ...more] = keysIn(env);
  if (found === undefined || more.length > 0) return undefined;
  return mapValue(fromEnvironment(env, found.variable), () => found.name);
}

/** The variables of a service's address, or of a part of it. */
export function addressNames(service: ServiceName): string[] {
  const { addressVariables, template } = services[service];
  return [...addressVariables, ...Object.values(template?.variables ?? {}).flat()];
}

/** The address of the service in its variables, whole or in parts, as a base URL. Throws usage for a value that is not a URL. */
export function vendorAddress(env: Environment, service: ServiceName): SourcedValue<string> | undefined {
  const found = findFirstVariable(env, services[service].addressVariables);
  const read = service === 'ollama' ? withDefaults : (text: string) => asBaseUrl(text, service);
  const whole = mapValue(found, (text, origin) =>
    String(parseSettingValue(settings.baseUrl, read(text.trim()), origin)),
  );
  return whole ?? filledAddress(env, service);
}

/** The first blank of the service's address whose variables are not set, and these. */
export function findMissingPart(env: Environment, service: ServiceName): readonly string[] | undefined {
  const { template } = services[service];
  return Object.values(template?.variables ?? {}).find((names) => findFirstVariable(env, names) === undefined);
}

function filledAddress(env: Environment, service: ServiceName): SourcedValue<string> | undefined {
  const { template } = services[service];
  if (template === undefined || findMissingPart(env, service) !== undefined) return undefined;
  const parts = Object.entries(template.variables).map(
    ([blank, names]) => [blank, findFirstVariable(env, names) as SourcedValue<string>] as const,
  );
  const values = Object.fromEntries(parts.map(([blank, part]) => [blank, readAddressPart(part)]));
  return { ...(parts[0]?.[1] as SourcedValue<string>), value: fillTemplate(template, values) };
}

/**
 * A part of an address, which can be typed as the address of a page. Throws usage for a text that would change the rest of the
 * address.
 */
function readAddressPart({ value, origin: { from } }: SourcedValue<string>): string {
  const part = value
    .trim()
    .replace(/^https?:\/\//, '')
    .replace(/\/+$/, '');
  if (/^[\w.-]+$/.test(part)) return part;
  throw usageError(`${from}: not a part of an address`, 'it is one name, such as my-resource, or a host');
}

/** The base URL that the vendor's own tools make of the address: some add a path, others have the version in their operations. */
function asBaseUrl(text: string, service: ServiceName): string {
  const { addressPath = '', formats } = services[service];
  const isInBase = formats.text === 'completions' || formats.text === 'responses';
  if (!isInBase) return text.replace(/\/v1\/*$/, '');
  return bareHost.test(text) ? text.replace(/\/*$/, addressPath) : withoutVersion(text);
}

const bareHost = /^https?:\/\/[^/]+\/*$/;

/** A version alone after the host is removed: the operations add it anyway. */
function withoutVersion(text: string): string {
  return text.replace(/^([a-z]+:\/\/[^/]+)\/v1\/*$/i, '$1');
}

/** Ollama's variable can lack the scheme, the host and the port. The address on which a server listens for all is this machine's. */
function withDefaults(text: string): string {
  const parts = /^([a-z]+:\/\/)?(\[[^\]]*\]|[^:/]*)(:\d+)?(\/.*)?$/i.exec(text);
  if (parts === null) return text;
  const [, scheme, host = '', port = scheme === undefined ? ':11434' : '', path = ''] = parts;
  const isAny = host === '' || host === '0.0.0.0' || host === '[::]';
  return withoutVersion(`${scheme ?? 'http://'}${isAny ? '127.0.0.1' : host}${port}${path}`);
}
