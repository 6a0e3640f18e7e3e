// The least an ES module can cost.
process.stdout.write('0.0.0\n');
