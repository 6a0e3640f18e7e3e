import manifest from '../../package.json' with { type: 'json' };

/** The program's version, as package.json has it. */
export const version: string = manifest.version;

/** The oldest version of Node that runs it. */
export const minNode: string = manifest.engines.node.replace('>=', '');
