import { jobCommands } from '../../../../batch/index.ts';
import type { JsonObject } from '../../../../library/index.ts';
import { describeValue, type FlagTable } from '../../../flags/flag.ts';
import { jobFields, jobKeys, jsonKeys } from './job-line.ts';

/** The JSON Schema of one job, and of the file of `--defaults`, for editors; the build makes job.schema.json of it. */
export function makeJobSchema(): JsonObject {
  const keys = Object.fromEntries(Object.values(jobKeys).flatMap((table) => Object.entries(table))) as FlagTable;
  const properties = Object.entries(keys).map(([key, flag]) => [key, toSchema(key, flag)] as const);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'A job of gateway-cli batch',
    type: 'object',
    properties: {
      $schema: { type: 'string' },
      id: { type: ['string', 'integer'], description: 'what its result is known by (the number of its line)' },
      command: { enum: [...jobCommands], default: 'text' },
      name: { type: 'string', description: 'file name of its images, without a folder' },
      ...Object.fromEntries(properties),
    },
    additionalProperties: false,
    allOf: jobCommands.map((command) => ({
      if: { properties: { command: { const: command } }, required: ['command'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a key of JSON Schema
      then: { propertyNames: { enum: [...jobFields, ...Object.keys(jobKeys[command])] } },
    })),
  };
}

function toSchema(key: string, flag: FlagTable[string]): JsonObject {
  const description = flag.text;
  if (!flag.flags.includes('<')) return { type: 'boolean', description };
  if (jsonKeys.has(key)) {
    const inWords = key === 'vars' ? ['number', 'boolean'] : [];
    return { type: ['string', 'object', 'array', ...inWords], description };
  }
  const { type, values = [], isChoice = false, minimum, maximum } = describeValue(flag);
  const one = isChoice
    ? { enum: [...values] }
    : {
        type: type === 'string' ? ['string', 'number', 'object'] : [type, 'string'],
        ...(minimum !== undefined && { minimum }),
        ...(maximum !== undefined && { maximum }),
      };
  return flag.repeat ? { anyOf: [one, { type: 'array', items: one }], description } : { ...one, description };
}
