import { isObject, type JsonObject, type JsonValue } from '../json.ts';

/** A tool that the model may call, in the plain form: what every format can say. */
export interface PlainTool {
  name: string;
  description?: string | undefined;
  /** A JSON Schema of the input. */
  schema?: JsonValue | undefined;
}

/** Reads a tool in the plain form; its schema may have the name that one of the formats gives it. */
export function plainTool(tool: JsonObject): PlainTool {
  const { name, description, schema, parameters, input_schema: inputSchema } = tool;
  return {
    name: typeof name === 'string' ? name : '',
    description: typeof description === 'string' ? description : undefined,
    schema: [schema, parameters, inputSchema].find((value) => isObject(value) || typeof value === 'boolean'),
  };
}

/** Whether a tool is in the plain form: a name, and no type of a format. */
export function isPlainTool(tool: JsonObject): boolean {
  return typeof tool['name'] === 'string' && tool['type'] === undefined;
}
