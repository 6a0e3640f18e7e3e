#!/usr/bin/env node
const { existsSync } = require('node:fs');
const { enableCompileCache } = require('node:module');

const program = `${__dirname}/../dist/cjs/main.js`;

// Node 22.1 and later keep compiled code between runs; NODE_DISABLE_COMPILE_CACHE=1 turns it off.
enableCompileCache?.();
if (existsSync(program)) {
  require(program);
} else {
  process.stderr.write('gateway-cli: internal: dist/ is missing; type: npm run build\n');
  process.exitCode = 1;
}
