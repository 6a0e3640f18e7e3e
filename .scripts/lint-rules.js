/** The names of a function's rest parameter, `...texts`, of all functions around a node. */
function isRestParameter(name, node) {
  for (let at = node; at; at = at.parent) {
    const last = at.params?.at(-1);
    if (last?.type === 'RestElement' && last.argument.name === name) return true;
  }
  return false;
}

/** Whether as many items are spread as the code has, or as the caller had already put on the stack. */
function isBounded(list, node) {
  if (list.type === 'ArrayExpression') return list.elements.every((item) => item?.type !== 'SpreadElement');
  if (list.type === 'ConditionalExpression') return isBounded(list.consequent, node) && isBounded(list.alternate, node);
  return list.type === 'Identifier' && isRestParameter(list.name, node);
}

const noSpreadInCall = {
  create(context) {
    const check = (call) => {
      for (const item of call.arguments)
        if (item.type === 'SpreadElement' && !isBounded(item.argument, call))
          context.report({
            node: item,
            message:
              'A long list that is spread into a call overflows the stack: use append, maxOf or minOf of long-lists.ts',
          });
    };
    return { CallExpression: check, NewExpression: check };
  },
};

export default { meta: { name: 'house' }, rules: { 'no-spread-in-call': noSpreadInCall } };
