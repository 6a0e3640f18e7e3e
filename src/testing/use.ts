import { env, getBuiltinModule } from 'node:process';
import { usageError } from '../errors.ts';
import { startGateway } from './start.ts';
import type { Gateway, GatewayOptions, Hooks } from './testing-types.ts';

/**
 * A gateway for all tests of a file. It starts before the first and sets the variables of its `env`; after each test it
 * begins anew, and the test fails if a request had no answer; after the last it stops and restores the variables. `hooks`
 * are those of the test runner: jest and node:test need none, vitest needs its module (`import * as vitest`) unless its
 * functions are global.
 */
export function useGateway(options: GatewayOptions = {}, hooks: Hooks = runnerHooks()): Gateway {
  let running: Gateway | undefined;
  let before: Readonly<Record<string, string | undefined>> = {};
  const started = (): Gateway => {
    if (running !== undefined) return running;
    throw usageError('the gateway has not started yet', 'use it inside a test: it starts before the first one');
  };
  const [first, last] = [hooks.beforeAll ?? hooks.before, hooks.afterAll ?? hooks.after];
  first?.(async () => {
    running = await startGateway(options);
    before = Object.fromEntries(Object.keys(running.env).map((name) => [name, env[name]]));
    setVariables(running.env);
  });
  hooks.afterEach(async () => {
    const missed = started()
      .requests()
      .filter(({ answered }) => !answered);
    await started().reset();
    if (missed.length > 0) throw new Error(`no answer for ${missed.map(nameOf).join(', ')}`);
  });
  last?.(async () => {
    setVariables(before);
    await running?.stop();
    running = undefined;
  });
  return {
    get url() {
      return started().url;
    },
    get key() {
      return started().key;
    },
    get env() {
      return started().env;
    },
    requests: () => started().requests(),
    reset: (script) => started().reset(script),
    stop: () => started().stop(),
  };
}

function nameOf({ method, path, prompt }: ReturnType<Gateway['requests']>[number]): string {
  return prompt === undefined ? `${method} ${path}` : `the prompt '${prompt.slice(0, 200)}' (${method} ${path})`;
}

function setVariables(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete env[name];
    else env[name] = value;
  }
}

/** The hooks of jest and of vitest with globals, else those of node:test. */
function runnerHooks(): Hooks {
  const found = globalThis as Partial<Hooks>;
  if (found.beforeAll && found.afterEach) return found as Hooks;
  if (env['VITEST'] !== undefined)
    throw usageError(
      'the functions of vitest are not global here',
      "import * as vitest from 'vitest', and call useGateway({ … }, vitest)",
    );
  return getBuiltinModule('node:test');
}
