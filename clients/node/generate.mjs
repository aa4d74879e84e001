// Write the types of the admin port's operations, and its pleasant methods, from two documents:
//
//   node generate.mjs OPENAPI_JSON METHODS_JSON OPERATIONS_TS METHODS_TS
//
// The OpenAPI document says what an operation takes and returns, and what its documentation is. The table says under which names
// users find operations, documents and fields of fault rules:
//   types      a part of a document
//   texts      a line of text for a document: parts with fields in braces; one in a list is left out if it has no value
//   rules      methods that add a fault rule: fields that they take (`NAME=FIELD` renames one) or set
//   methods    methods of a cluster; their arguments are the parameters of the path, the required fields of the body, and those of
//              the table (`FIELD=NAME` renames one); all others are fields of a last argument
//              `maps` has keys of the body's maps that are fields of their own
//   resources  classes of documents that the port keeps under a key, with methods for the operations on one of them
// The types of documents are those that openapi-typescript writes into admin_schema.ts.
import { readFileSync, writeFileSync } from 'node:fs';

const [document, table] = process.argv.slice(2, 4).map((path) => JSON.parse(readFileSync(path, 'utf8')));
const schemas = document.components.schemas;
const operations = new Map(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [operation.operationId, { path, method, ...operation }]),
  ),
);
const WIDTH_MAX = 116;

// What the document says ---------------------------------------------------------------------------------------------

const resolved = (schema) => (schema?.$ref ? schemas[schema.$ref.split('/').pop()] : schema) ?? {};
const named = (operation, where) => operation.parameters?.filter((parameter) => parameter.in === where) ?? [];
const bodyOf = (operation) => operation.requestBody && Object.values(operation.requestBody.content)[0].schema;
const successOf = (operation) => Object.entries(operation.responses).find(([status]) => /^2/.test(status));
/** Whether a value may be a number as text instead of one of the names. */
const isOpen = (schema) => schema.anyOf?.some(({ pattern }) => pattern === '^[0-9]+$');

function fieldsOf(operation) {
  const body = resolved(bodyOf(operation));
  return [
    ...['path', 'query'].flatMap((where) => named(operation, where).map((each) => ({ where, ...each }))),
    ...Object.entries(body.properties ?? {}).map(([name, schema]) => ({
      where: 'body', name, schema, required: body.required?.includes(name) ?? false,
    })),
  ];
}

// TypeScript ---------------------------------------------------------------------------------------------------------

const types = Object.entries(table.types);
const quoted = (names) => names.map((name) => `'${name}'`).join(' | ');
const without = (type, names) => (names.length ? `Omit<${type}, ${quoted(names)}>` : type);

/** Return the type of the query or path: names of the table instead of long enumerations. */
function parametersType(operation, where) {
  const type = `NonNullable<operations['${operation.operationId}']['parameters']['${where}']>`;
  const open = named(operation, where).filter(({ schema }) => isOpen(schema));
  if (!open.length) return type;
  const fields = open.map(({ name }) => {
    const [alias] = types.find(([, row]) => row.field === name);
    return `${name}?: ${alias} | \`\${number}\``;
  });
  return `${without(type, open.map(({ name }) => name))} & { ${fields.join('; ')} }`;
}

/** Return a type that is short to read, undefined if there is none. */
function plainType(schema) {
  if (schema.$ref) return `documents.${schema.$ref.split('/').pop()}`;
  if (schema.items) {
    const type = plainType(schema.items);
    return type && (/\W\|/.test(type) ? `(${type})[]` : `${type}[]`);
  }
  if (schema.enum || schema.pattern) return undefined;
  if (schema.anyOf) {
    const all = schema.anyOf.map(plainType);
    return all.every(Boolean) ? all.join(' | ') : undefined;
  }
  return { integer: 'number', number: 'number', string: 'string', boolean: 'boolean', null: 'null' }[schema.type];
}

function bodyType(operation) {
  return operation.body ?? (
    plainType(bodyOf(operation)) ?? `operations['${operation.operationId}']['requestBody']['content']['application/json']`
  );
}

function fieldType(operation, { where, name, schema }) {
  if (where !== 'query' || !isOpen(schema)) {
    const type = plainType(schema);
    if (type) return type;
  }
  const holder = where === 'body' ? bodyType(operation) : parametersType(operation, where);
  return `${holder.includes(' & ') ? `(${holder})` : holder}['${name}']`;
}

function outputType(operation) {
  const [status, { content }] = successOf(operation);
  if (!content) return 'void';
  const [media] = Object.keys(content);
  if (media === 'application/vnd.tcpdump.pcap') return 'Buffer';
  if (media !== 'application/json') return 'string';
  return (
    plainType(content[media].schema) ?? `operations['${operation.operationId}']['responses'][${status}]['content']['application/json']`
  );
}

function inputType(operation) {
  const parts = ['path', 'query']
    .filter((where) => named(operation, where).length)
    .map((where) => `${where}${named(operation, where).some((each) => each.required) ? '' : '?'}: ${parametersType(operation, where)}`);
  if (operation.requestBody) parts.push(`body${operation.requestBody.required ? '' : '?'}: ${bodyType(operation)}`);
  return `{ ${parts.join('; ')} }`;
}

function comment(text, indent, more = []) {
  const lines = [];
  for (const paragraph of [...text.split(/\n\s*\n/), ...more]) {
    let line = '';
    for (const word of paragraph.replaceAll('*/', '* /').split(/\s+/).filter(Boolean)) {
      if (line && indent.length + 3 + line.length + 1 + word.length > WIDTH_MAX) {
        lines.push(line);
        line = word;
      } else line = line ? `${line} ${word}` : word;
    }
    lines.push(line);
  }
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`), `${indent} */`].join('\n');
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`;
const literal = (value) => (typeof value === 'string' ? `'${value}'` : `${value}`);
const entries = (values) => Object.entries(values).map(([name, value]) => `${name}: ${literal(value)}`);

function typeText(name, row) {
  if (row.query_of) {
    const operation = operations.get(row.query_of);
    return `${comment(operation.description, '')}
export type ${name} = ${without(parametersType(operation, 'query'), row.without)};`;
  }
  const schema = schemas[row.of];
  if (row.field) return `${comment(sentence(schema.properties[row.field].description), '')}
export type ${name} = NonNullable<documents.${row.of}['${row.field}']>;`;
  const names = Object.keys(schema.properties);
  const head = `${comment(schema.description, '')}\nexport type ${name} = `;
  if (row.from) {
    const kept = names.slice(names.indexOf(row.from), names.indexOf(row.to) + 1);
    return `${comment(`The fields of a ${row.of} that say which requests it matches, and on which of these it fires.`, '')}
export type ${name} = Pick<documents.${row.of}, ${quoted(kept)}>;`;
  }
  const decoded = decodedFields(row);
  if (decoded.length) return head + decodedType(row, schema, decoded);
  const untyped = names.filter((each) => !Object.keys(schema.properties[each]).length);
  const typed = { ...Object.fromEntries(untyped.map((each) => [each, 'any'])), ...row.typed };
  const rest = without(`documents.${row.of}`, [...row.without, ...Object.keys(typed)]);
  const fields = Object.entries(typed).map(([each, type]) => `  ${each}: ${type};`);
  return `${head}${row.required ? `Required<${rest}>` : rest} & {\n${fields.join('\n')}\n};`;
}

/** Return the fields of a document that have bytes, in themselves or in the entries of a list. */
function decodedFields(row) {
  const { properties } = schemas[row.of];
  const hasBytes = (schema) =>
    JSON.stringify(schema).includes('/BytesView"') ||
    (schema.items !== undefined && hasBytes(resolved(schema.items).properties?.value ?? {}));
  return Object.keys(properties).filter((name) => hasBytes(properties[name]));
}

/** Bytes of a document are a Buffer, or null. */
function decodedType(row, schema, decoded) {
  const fields = decoded.map((name) => {
    const { items } = schema.properties[name];
    return `  ${name}: ${items ? `(Omit<${plainType(items)}, 'value'> & { value: Buffer | null })[]` : 'Buffer | null'};`;
  });
  return `${without(`documents.${row.of}`, decoded)} & {\n${row.with.map((each) => `  ${each}: string;\n`).join('')}${fields.join('\n')}\n};`;
}

function decodingFunction([name, row]) {
  const fields = decodedFields(row).map((each) => {
    const value = schemas[row.of].properties[each].items
      ? `view.${each}.map((one) => ({ ...one, value: one.value && Buffer.from(one.value.base64 ?? '', 'base64') }))`
      : `view.${each} && Buffer.from(view.${each}.base64 ?? '', 'base64')`;
    return `${each}: ${value}`;
  });
  return `/** @internal */
export function ${name[0].toLowerCase()}${name.slice(1)}(${row.with.map((each) => `${each}: string`).join(', ')}, view: documents.${row.of}): ${name} {
  return { ${[...row.with, '...view', ...fields].join(', ')} };
}`;
}

/** Return a function that makes a line of text; a field in braces may have an alternative for null. */
function textFunction([name, parts]) {
  const { properties } = schemas[table.types[name].of];
  const value = (own) => (properties[own]?.type === 'array' ? `line.${own}.join(' ')` : properties[own] ? `line.${own}` : literal(own));
  const lines = parts.map((part) => {
    const fields = [...`${part}`.matchAll(/\{(.*?)\}/g)].map(([, names]) => names.split('|').map(value).join(' ?? '));
    const text = `\`${`${part}`.replace(/\{.*?\}/g, () => `\${${fields.shift()}}`)}\``;
    const values = [...`${part}`.matchAll(/\{(.*?)\}/g)].map(([, own]) => value(own));
    return `    ${Array.isArray(part) ? `(${values.join(' || ')}) && ` : ''}${text},`;
  });
  return `/** @internal Return a ${name} as a line of text. */
export function textOf${name}(line: ${name}): string {
  const parts = [
${lines.join('\n')}
  ];
  return parts.filter(Boolean).map((part) => \`\${part}\`.trim().replace(/ +/g, ' ')).join('  ');
}`;
}

/** Return a method that adds a rule: it takes the fields of When, and those of the table. */
function ruleMethod(name, row) {
  const { properties } = schemas.FaultRule;
  const sets = row.sets ?? {};
  const takes = [...(row.required ?? []), ...(row.optional ?? [])].map((text) => {
    const [own, field = own] = text.split('=');
    return { own, field, mark: row.required?.includes(text) ? '' : '?', type: `NonNullable<documents.FaultRule['${field}']>` };
  });
  if (row.at) {
    const ats = Object.keys(row.at);
    takes.push({ own: row.value, field: row.at[ats[0]], mark: '', type: `NonNullable<documents.FaultRule['${row.at[ats[0]]}']>` });
    takes.push({ own: 'at', mark: '?', type: quoted(ats), initial: ats[0] });
  }
  for (const own of Object.keys(row.unless ?? {}))
    takes.push({ own, mark: '?', type: 'boolean', initial: true });

  // What has another name than its field, or is none, is taken out of the rule.
  const apart = takes.filter(({ own, field }) => own !== field);
  const initial = ({ field, initial }) => initial ?? sets[field];
  const isSettable = (field) => takes.some((each) => each.own === field);
  const cases = [
    ...Object.entries(row.unless ?? {}).map(([own, values]) => [own, '{}', `{ ${entries(values).join(', ')} }`]),
    ...Object.entries(row.with ?? {}).map(([own, values]) => [`${own} === undefined`, '{}', `{ ${entries(values).join(', ')} }`]),
  ].map(([condition, one, other]) => `...(${condition} ? ${one} : ${other})`);
  const parts = [
    ...entries(sets).filter((text) => isSettable(text.split(':')[0])),
    '...rule',
    ...entries(sets).filter((text) => !takes.some((each) => each.field === text.split(':')[0])),
    ...apart.filter(({ field }) => field && !row.at).map(({ own, field }) => `${field}: ${own}`),
    ...(row.at ? [`[at === '${Object.keys(row.at)[0]}' ? '${Object.values(row.at)[0]}' : '${Object.values(row.at)[1]}']: ${row.value}`] : []),
    ...cases,
  ];
  const type = `When${takes.length ? ` & { ${takes.map((each) => `${each.own}${each.mark}: ${each.type}`).join('; ')} }` : ''}`;
  const given = apart.map((each) => `${each.own}${initial(each) === undefined ? '' : ` = ${literal(initial(each))}`}`);
  const says = [
    ...Object.entries(sets).filter(([field]) => !takes.some((each) => each.field === field)).map(([field, value]) => [`${field}: ${value}`, properties[field].description]),
    ...takes.map((each) => [each.own, `${row.says?.[each.own] ?? properties[each.field].description}${initial(each) === undefined ? '' : `; by default ${initial(each)}`}`]),
  ];
  const returned = row.returns ?? 'Fault';
  return `${comment('Add a rule. For the requests that it matches:', '  ', says.map(([own, text]) => `- \`${own}\`: ${text}.`))}
  async ${name}(${apart.length ? `{ ${given.join(', ')}, ...rule }` : 'rule'}: ${type}${takes.every(({ mark }) => mark) ? ' = {}' : ''}): Promise<${returned}> {
    return ${returned === 'Fault' ? '' : '('}await this.addFault({ ${parts.join(', ')} })${returned === 'Fault' ? '' : `) as ${returned}`};
  }`;
}

/** Return a method for an operation; `key` is the parameter of the path that a resource has. */
function method(name, row, { key, port = 'this', isOverride = false } = {}) {
  if (row.maps) return flatMethod(name, row);
  const operation = { ...operations.get(row.operation), body: row.body && `documents.${row.body}` };
  const fields = fieldsOf(operation).filter((each) => each.name !== key);
  const given = (row.arguments ?? []).map((each) => each.split('='));
  const isWhole = given.some(([field]) => field === 'body');
  const positional = [
    ...fields.filter((each) => each.where === 'path' || (each.where === 'body' && each.required && !isWhole)).map((each) => [each.name]),
  ];
  for (const argument of given) if (!positional.some(([field]) => field === argument[0])) positional.push(argument);
  const rest = fields.filter((each) => !positional.some(([field]) => field === each.name) && !(isWhole && each.where === 'body'));
  const places = new Set(rest.map(({ where }) => where));
  if (places.size > 1) throw new Error(`${name}: the query and the body both have further fields; name those of one as arguments`);
  const [place] = places;

  const parameters = positional.map(([field, own = field]) => {
    if (field === 'body') return `${own}: ${bodyType(operation)}`;
    const found = fields.find((each) => each.name === field);
    const { required } = found;
    const type = fieldType(operation, found);
    const initial = row.defaults?.[field];
    return `${own}${required || initial !== undefined ? '' : '?'}: ${type}${initial === undefined ? '' : ` = ${initial}`}`;
  });
  if (place) {
    const names = [...positional.map(([field]) => field), ...Object.keys(row.sets ?? {})];
    const type = place === 'query'
      ? without(parametersType(operation, place), names.filter((each) => named(operation, place).some((one) => one.name === each)))
      : without(bodyType(operation), names.filter((each) => resolved(bodyOf(operation)).properties[each]));
    const isOptional = !rest.some((each) => each.required) && !resolved(bodyOf(operation)).oneOf;
    // What later statements need has a name.
    const apart = row.then || row.otherwise ? Object.entries(row.defaults).filter(([field]) => rest.some((each) => each.name === field)) : [];
    const taken = apart.length ? `{ ${apart.map(([field, value]) => `${field} = ${value}, `).join('')}...options }` : 'options';
    parameters.push(`${taken}: ${type}${isOptional ? ' = {}' : ''}`);
  }

  const inputOf = (where) => {
    if (where === 'body' && isWhole) return given.find(([field]) => field === 'body')[1];
    const parts = [
      ...Object.entries(row.defaults ?? {})
        .filter(([field]) => rest.some((each) => each.name === field && each.where === where))
        .map(([field, value]) => (row.then || row.otherwise ? field : entries({ [field]: value })[0])),
      ...(place === where ? ['...options'] : []),
      ...(place === where ? entries(row.sets ?? {}) : []),
      ...positional
        .filter(([field]) => fields.some((each) => each.name === field && each.where === where))
        .map(([field, own = field]) => (field === own ? field : `${field}: ${own}`)),
      ...(where === 'path' && key ? [`${key}: this.${key}`] : []),
    ];
    return parts.length ? `{ ${parts.join(', ')} }` : undefined;
  };
  const input = ['path', 'query', 'body']
    .map((where) => [where, inputOf(where)])
    .filter(([where, text]) => text !== undefined && (where !== 'body' || operation.requestBody))
    .map(([where, text]) => (where === 'body' ? `body: ${text} as ${bodyType(operation)}` : `${where}: ${text}`));
  const call = `await ${port}.ask('${operation.method.toUpperCase()}', '${operation.path}'${input.length ? `, { ${input.join(', ')} }` : ''})`;
  if (row.hides) parameters.push(`{ ${Object.keys(row.hides).map((each) => `${each} = false`).join(', ')} } = {}`);
  const [type, value] = resultOf(operation, row, call, positional, name);
  return `${methodComment(operation, row, positional)}
  ${isOverride ? 'override ' : ''}async ${name}(${parameters.join(', ')}): Promise<${type}> {
    ${value}
  }`;
}

const mapsOf = Object.values(table.methods).flatMap(({ operation, maps = {} }) =>
  Object.entries(maps).map(([field, { type, keys }]) => ({
    field, type, keys: keys.map((text) => text.split('=')), value: resolved(bodyOf(operations.get(operation))).properties[field].additionalProperties,
    about: resolved(bodyOf(operations.get(operation))).description,
  })),
);

/** Return the type of the keys that a map of a body may have. */
function mapText({ type, field, keys, value, about }) {
  const fields = keys.map(([own]) => `  ${own}?: ${plainType(value)};`);
  return `${comment(`The \`${field}\` of these. ${about}`, '')}\nexport interface ${type} {\n${fields.join('\n')}\n}`;
}

/** Return a method whose argument has the keys of the body's maps, beside the other fields of the body. */
function flatMethod(name, row) {
  const operation = operations.get(row.operation);
  const maps = mapsOf.filter(({ type }) => Object.values(row.maps).some((each) => each.type === type));
  const type = [...maps.map((each) => each.type), without(bodyType(operation), maps.map(({ field }) => field))].join(' & ');
  const values = maps.map(({ field, keys }) => `${field}: { ${keys.map(([own, key = own]) => (own === key ? own : `'${key}': ${own}`)).join(', ')} }`);
  const all = maps.flatMap(({ keys }) => keys.map(([own]) => own));
  // JSON leaves out what is undefined.
  const call = `await this.ask('${operation.method.toUpperCase()}', '${operation.path}', { body: { ...options, ${values.join(', ')} } as ${bodyType(operation)} })`;
  return `${methodComment(operation, row, [])}
  async ${name}({ ${all.join(', ')}, ...options }: ${type}): Promise<${outputType(operation)}> {
    return ${call};
  }`;
}

/** Return the type of what a method returns, and the statements that return the response of `call`. */
function resultOf(operation, row, call, positional, name) {
  const output = outputType(operation);
  if (row.then) {
    const given = positional.map(([field]) => field).filter((field) => row.defaults[field] === undefined);
    return [row.then.returns, `${call};\n    return await this.${row.then.method}(${[...given, 'options'].join(', ')});`];
  }
  if (row.otherwise) {
    const [[key]] = positional;
    const reason = `${name}: nothing for \${${key}} in \${timeout_ms} ms, with \${JSON.stringify(options)}; ${row.otherwise}() has \${JSON.stringify(others)}`;
    return [output.replace(' | null', ''), `const found = ${call};
    if (found) return found;
    const others = (await this.${row.otherwise}()).filter((each) => each.${key} === ${key});
    throw new WaitTimeoutError(\`${reason}\`);`];
  }
  if (row.hides) {
    const conditions = Object.entries(row.hides).map(([option, field]) => `(${option} || !each.${field})`);
    return [output, `return (${call}).filter((each) => ${conditions.join(' && ')});`];
  }
  if (row.by_partition)
    return ['Record<string, number>', `const found = ${call};
    return Object.fromEntries(
      found.flatMap((view) => (view.${row.by_partition} === null ? [] : [[\`\${view.topic}-\${view.partition}\`, view.${row.by_partition}]])),
    );`];
  if (table.resources[row.returns]) {
    const { of } = table.resources[row.returns];
    const isList = row.body?.endsWith('[]') || resolved(successOf(operation)[1].content['application/json'].schema).type === 'array';
    const type = `${row.returns}${isList ? '[]' : ''}`;
    const view = row.body ? ` as documents.${of}${isList ? '[]' : ''}` : '';
    const make = `${row.returns.toLowerCase()}Of`;
    return [type, isList ? `return ((${call})${view}).map((view) => ${make}(this, view));` : `return ${make}(this, (${call})${view});`];
  }
  if (row.returns && table.types[row.returns]) {
    const isList = successOf(operation)[1].content['application/json'].schema.type === 'array';
    const type = `${row.returns}${isList ? '[]' : ''}`;
    return [type, `return (${call}) as ${type};`];
  }
  if (row.returns) {
    const { properties } = resolved(successOf(operation)[1].content['application/json'].schema);
    return [plainType(properties[row.returns]) ?? `${output}['${row.returns}']`, `return (${call}).${row.returns};`];
  }
  return [output, output === 'void' ? `${call};` : `return ${call};`];
}

function methodComment(operation, row, positional) {
  const more = [];
  // What comes after the timeout is an error of this package.
  const [summary, description] = [operation.summary, operation.description ?? ''].map((text) =>
    row.defaults?.timeout_ms ? text.replace(/, or null after the timeout|After the timeout [^.]*\. ?/, '') : text,
  );
  if (description) more.push(description);
  if (row.by_partition) {
    const { items } = successOf(operation)[1].content['application/json'].schema;
    more.push(`It returns \`${row.by_partition}\` by partition, such as \`{ 'orders-0': 17 }\`. ${resolved(items).description}`);
  } else if (row.returns && !table.types[row.returns] && !table.resources[row.returns]) more.push(`It returns \`${row.returns}\`.`);
  const waits = row.defaults?.timeout_ms;
  if (waits) more.push(`@throws WaitTimeoutError after \`timeout_ms\`, by default ${waits.toLocaleString('en')}`);
  for (const [field, own] of positional) {
    const description = resolved(bodyOf(operation)).properties?.[field]?.description;
    if (description) more.push(`@param ${own ?? field} ${description}`);
  }
  return comment(sentence(summary), '  ', more);
}

function resourceClass(name, row) {
  const base = row.extends ? table.resources[row.extends] : row;
  const { of, key, list } = base;
  const { path, method: verb } = operations.get(list);
  const read = (own, field) => `  /** Ask the cluster for \`${field}\` of ${schemas[of].description.split('\n')[0].replace(/^A /, 'the ').replace(/\.$/, '')}. */
  async ${own}(): Promise<documents.${of}['${field}']> {
    return (await this.now()).${field};
  }`;
  const members = [
    ...Object.entries(row.reads).map(([own, field]) => read(own, field)),
    ...Object.entries(row.methods).map(([own, each]) => method(own, each, {
      key, port: 'this.port', isOverride: Boolean(row.extends && base.methods[own]),
    })),
  ];
  if (row.disposal)
    members.push(`  async [Symbol.asyncDispose](): Promise<void> {
    await this.${row.disposal}();
  }`);
  if (!row.extends) {
    const kept = [key, ...row.keeps];
    members.unshift(`${kept.map((each) => `  readonly ${each}: documents.${of}['${each}'];`).join('\n')}
  protected readonly port: Pick<AdminPort, 'ask'>;

  /** @internal */
  constructor(port: Pick<AdminPort, 'ask'>, view: documents.${of}) {
    this.port = port;
${kept.map((each) => `    this.${each} = view.${each};`).join('\n')}
  }`);
    members.push(`  /** @internal */
  protected async now(): Promise<documents.${of}> {
    const found = (await this.port.ask('${verb.toUpperCase()}', '${path}')).find((each) => each.${key} === this.${key});
    if (!found) throw new Error(\`${name.toLowerCase()} \${this.${key}} ${row.keeps.map((each) => `\${JSON.stringify(this.${each})}`).join(' ')} was removed, or the cluster was reset\`);
    return found;
  }`);
  }
  return `${comment(schemas[of].description, '', row.disposal ? [`\`await using\` calls \`${row.disposal}()\` at the end of the block.`] : [])}
export class ${name}${row.extends ? ` extends ${row.extends}` : ''} {
${members.join('\n\n')}
}`;
}

/** Return the declaration of a method that is written by hand, and that a wait calls. */
function thenDeclaration({ operation, then }) {
  const path = named(operations.get(operation), 'path').map((each) => `${each.name}: ${plainType(each.schema)}`);
  return `  abstract ${then.method}(${[...path, `query?: ${then.query}`].join(', ')}): Promise<${then.returns}>;`;
}

/** Return a function that makes the instance of a document: of the class whose condition it fulfils. */
function resourceFunction([name, row]) {
  const special = Object.entries(table.resources).filter(([, each]) => each.extends === name);
  const choice = special.map(([each, { if: path }]) => `view.${path} ? ${each} : `).join('') + name;
  return `function ${name.toLowerCase()}Of(port: Pick<AdminPort, 'ask'>, view: documents.${row.of}): ${name} {
  return new (${choice})(port, view);
}`;
}

const asked = [...operations.values()].filter((operation) => !successOf(operation)[1].content?.['text/event-stream']);
const HEAD = '// Generated by generate.mjs from ../openapi.json and methods.json: do not edit.';
const operationsText = `${HEAD}
import type * as documents from './admin_schema.js';
import type { operations } from './admin_schema.js';

/** What each operation takes and returns. */
export interface Operations {
${asked.map((each) => `${comment(sentence(each.summary), '  ')}
  '${each.method.toUpperCase()} ${each.path}': { input: ${inputType(each)}; output: ${outputType(each)} };`).join('\n')}
}

${[...types.map(([name, row]) => typeText(name, row)), ...mapsOf.map(mapText)].join('\n\n')}
`;
const decodedTypes = types.filter(([, row]) => row.with);
const body = `${decodedTypes.map(decodingFunction).join('\n\n')}

${Object.entries(table.texts).map(textFunction).join('\n\n')}

${Object.entries(table.resources).map(([name, row]) => resourceClass(name, row)).join('\n\n')}

${Object.entries(table.resources).filter(([, row]) => row.of).map(resourceFunction).join('\n\n')}

/** The methods of a cluster that are one request to its admin port each. */
export abstract class PortMethods {
  /** Send a request to any operation of the admin port. */
  abstract get ask(): AdminPort['ask'];

${Object.values(table.methods).filter((row) => row.then).map(thenDeclaration).join('\n\n')}

${Object.entries(table.rules).map(([name, row]) => ruleMethod(name, row)).join('\n\n')}

${Object.entries(table.methods).map(([name, row]) => method(name, row)).join('\n\n')}
}
`;
const methodsText = `${HEAD}
/// <reference lib="esnext.disposable" preserve="true" />
import type { ${[...types.map(([name]) => name), ...mapsOf.map(({ type }) => type)].filter((name) => new RegExp(`\\b${name}\\b`).test(body)).join(', ')} } from './admin_operations.js';
import { type AdminPort, WaitTimeoutError } from './admin_port.js';
import type * as documents from './admin_schema.js';
import type { operations } from './admin_schema.js';

${body}`;
writeFileSync(process.argv[4], operationsText);
writeFileSync(process.argv[5], methodsText);
