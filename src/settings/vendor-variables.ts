import { type ServiceName, serviceNames, services } from '../vendors/services.ts';
import { type Environment, fromEnvironment, mapValue, parseSettingValue } from './sources.ts';
import { settings } from './table.ts';
import type { SourcedValue } from './types.ts';

// Variables that the tools of the vendors read too. Each belongs to its service.

/** The variables of a service's key. With `_FILE` after its name, one holds the path of a file with the key. */
export function keyNames(service: ServiceName): string[] {
  return services[service].keyVariables.flatMap((name) => [name, `${name}_FILE`]);
}

/** The first variable of a service's key that is set: the key, or the path of its file. */
export function vendorKey(env: Environment, service: ServiceName): SourcedValue<string> | undefined {
  return findFirstVariable(env, keyNames(service));
}

/** The services whose key a variable holds or names. */
export function keysIn(env: Environment): { name: ServiceName; variable: string }[] {
  return serviceNames.flatMap((name) => {
    const found = vendorKey(env, name);
    return found !== undefined && 'name' in found.origin ? [{ name, variable: found.origin.name }] : [];
  });
}

/** The address that a variable of the service names, as a base URL. Throws usage for what is not a URL. */
export function vendorAddress(env: Environment, service: ServiceName): SourcedValue<string> | undefined {
  const found = findFirstVariable(env, services[service].addressVariables);
  const read = service === 'ollama' ? withDefaults : withoutVersion;
  return mapValue(found, (text, from) => String(parseSettingValue(settings.baseUrl, read(text.trim()), from)));
}

function findFirstVariable(env: Environment, names: readonly string[]): SourcedValue<string> | undefined {
  return names.map((name) => fromEnvironment(env, name)).find((found) => found !== undefined);
}

/** OpenAI's clients expect the version in the variable, the others do not. */
function withoutVersion(text: string): string {
  return text.replace(/\/v1\/*$/, '');
}

/** Ollama's variable can lack the scheme, the host and the port. The address on which a server listens for all is this machine's. */
function withDefaults(text: string): string {
  const parts = /^([a-z]+:\/\/)?(\[[^\]]*\]|[^:/]*)(:\d+)?(\/.*)?$/i.exec(text);
  if (parts === null) return withoutVersion(text);
  const [, scheme, host = '', port = scheme === undefined ? ':11434' : '', path = ''] = parts;
  const isAny = host === '' || host === '0.0.0.0' || host === '[::]';
  return withoutVersion(`${scheme ?? 'http://'}${isAny ? '127.0.0.1' : host}${port}${path}`);
}
