import { parentPort } from 'node:worker_threads';
import { type JsonValue, parseFlat } from '../../library/index.ts';
import { compileRules, type FindFaults, SchemaFault } from './schema-rules.ts';

/** A question for the thread: whether a schema can be used, or the faults of a JSON text. */
export interface SchemaQuestion {
  /** The JSON of the schema. */
  schema: string;
  json?: string | undefined;
}

/** The answer of the thread: `invalid` is about the schema, `faults` about the text. */
export interface SchemaReport {
  invalid?: string;
  faults?: string[];
}

/** Schemas that are kept compiled. */
const maxSchemas = 100;
const compiled = new Map<string, FindFaults>();

parentPort?.on('message', (question: SchemaQuestion) => parentPort?.postMessage(answerQuestion(question)));

function answerQuestion({ schema, json }: SchemaQuestion): SchemaReport {
  try {
    const findFaults = compiled.get(schema) ?? compileRules(JSON.parse(schema) as JsonValue);
    if (compiled.size >= maxSchemas) compiled.clear();
    compiled.set(schema, findFaults);
    return { faults: json === undefined ? [] : findFaults(parseFlat(json) as JsonValue) };
  } catch (error) {
    if (error instanceof SchemaFault) return { invalid: error.message };
    throw error;
  }
}
