// Write the classes of the package io.mockkafka.admin from the OpenAPI document of the admin port, and pleasant ones of the
// package io.mockkafka from methods.json.
//
// A schema becomes a class with an accessor for each property, and with setters if requests have it.
// An operation becomes a method of AdminApi, and its query a class. Maven runs this before it
// compiles, with `document`, `methods` and `output` (a folder); nothing that it writes is kept in the project.
//
// The table says under which names users find operations, documents and fields of fault rules (`FIELD=NAME` renames one):
//   texts      a line of text for a document: parts with fields in braces; one in a list is left out if it has no value
//   options    the fields that a start has, for a base class with a setter for each: `argument` is the option of
//              `mock-kafka serve`, `config` has the keys that a flag sets
//   errors     exceptions for a document that refuses a request
//   reports    classes of documents with a list of findings, and a method that fails if there are some
//   records    classes of documents whose bytes are read as bytes and as text
//   rules      methods that add a fault rule: the field that they take as a value, and those that they set if the rule does not
//   methods    methods of a cluster, in one or more forms: the fields that each takes as arguments, or all of the `body` or `query`
//   resources  classes of documents that the port keeps under a key, with methods for the operations on one of them

import groovy.json.JsonSlurper

final class Generator {
    static final PACKAGE = 'io.mockkafka.admin'
    static final PLEASANT = 'io.mockkafka'
    static final INT_MAX = Integer.MAX_VALUE
    // Any number is a valid API and error code, so these take any text besides Kafka's names.
    static final OPEN_ENUMS = [api: 'Api', error: 'ErrorCode']

    final Map document
    final Map table
    final File output
    final Set<String> sent = []
    final Map<String, Boolean> areInt = [:]

    Generator(Map document, Map table, File output) {
        this.document = document
        this.table = table
        this.output = output
    }

    void run() {
        noteIntegers('', document)
        operations().each { it.requestBody?.content?.values()?.each { media -> noteSent(media.schema) } }
        schemas().each { name, schema -> if (!schema.enum) write(name, schemaClass(name, schema)) }
        def rule = schemas().FaultRule.properties
        write('Api', openEnum('Api', 'An API of Kafka.', rule.api.enum))
        write('ErrorCode', openEnum('ErrorCode', 'An error code of Kafka.', rule.error.enum))
        operations().findAll { returnType(it) != null && queryOf(it) }.each { write(queryName(it), queryClass(it)) }
        write('AdminApi', adminApi())
        table.records.each { name, row -> write(name, recordClass(name, row), PLEASANT) }
        table.resources.each { name, row -> write(name, resourceClass(name, row), PLEASANT) }
        table.reports.each { name, row -> write(name, reportClass(name, row), PLEASANT) }
        table.options.each { name, fields -> write("${name}Fields", optionsClass(name, fields), PLEASANT) }
        table.errors.each { name, row -> write(name, errorClass(name, row), PLEASANT) }
        write('PortMethods', portMethods(), PLEASANT)
    }

    // What the document says ---------------------------------------------------------------------

    Map schemas() { document.components.schemas }

    List<Map> operations() {
        document.paths.collectMany { path, methods ->
            methods.collect { method, operation -> operation + [path: path, method: method.toUpperCase()] }
        }
    }

    /** Find the names whose numbers fit into an int wherever the document limits them. */
    void noteIntegers(String name, Object node) {
        if (node instanceof List) { node.each { noteIntegers(name, it) } }
        if (!(node instanceof Map)) { return }
        if (node.type == 'integer' && node.maximum != null) {
            areInt[name] = areInt.getOrDefault(name, true) && node.maximum <= INT_MAX
        }
        node.each { key, value ->
            if (key == 'properties' && value instanceof Map) { value.each { noteIntegers(it.key, it.value) } }
            else if (key == 'parameters' && value instanceof List) { value.each { noteIntegers(it.name, it.schema) } }
            else { noteIntegers(key in ['anyOf', 'schema', 'items'] ? name : key, value) }
        }
    }

    void noteSent(Object node) {
        if (node instanceof List) { node.each { noteSent(it) } }
        if (!(node instanceof Map)) { return }
        if (node['$ref'] && sent.add(refName(node))) { noteSent(schemas()[refName(node)]) }
        node.values().each { noteSent(it) }
    }

    static String refName(Map schema) { schema['$ref'].tokenize('/').last() }

    /** Return the schemas that a value may have, without null. */
    static List<Map> choices(Map schema) { (schema.anyOf ?: [schema]).findAll { it.type != 'null' } }

    static boolean mayBeNull(Map schema) { schema.anyOf?.any { it.type == 'null' } }

    String javaType(String name, Map schema, boolean boxed) {
        def kinds = choices(schema).findAll { !it.pattern || schema.type != 'string' }
        if (kinds.size() > 1) { return 'Object' }
        def one = kinds ? kinds[0] : schema
        if (one['$ref']) { return schemas()[refName(one)].enum ? 'String' : refName(one) }
        if (!one.type && !one.enum && !one.anyOf) { return 'JsonNode' }
        switch (one.type ?: (one.enum && !(one.enum[0] instanceof String) ? 'integer' : 'string')) {
            case 'integer': return areInt[name] ? (boxed ? 'Integer' : 'int') : (boxed ? 'Long' : 'long')
            case 'number': return boxed ? 'Double' : 'double'
            case 'boolean': return boxed ? 'Boolean' : 'boolean'
            case 'array': return "List<${javaType(name, one.items, true)}>"
            case 'object':
                def of = one.additionalProperties
                return "Map<String, ${of instanceof Map ? javaType(name, of, true) : 'Object'}>"
            default: return 'String'
        }
    }

    List enumOf(Map schema) {
        def all = choices(schema).collectMany { it['$ref'] ? schemas()[refName(it)].enum ?: [] : it.enum ?: [] }
        all.every { it instanceof String } && choices(schema).every { it.type != 'integer' } ? all : []
    }

    // Java text ----------------------------------------------------------------------------------

    static String camel(String name) { name.replaceAll(/[_-](\w)/) { it[1].toUpperCase() } }

    static String title(String name) { camel(name).with { it[0].toUpperCase() + it.substring(1) } }

    static String constant(String name) {
        name.replaceAll(/([a-z])([A-Z])/, '$1_$2').replaceAll(/\W/, '_').toUpperCase()
    }

    static String javadoc(String text, String indent = '') {
        def safe = (text ?: '').replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;').replace('@', '&#64;')
        def lines = safe.replaceAll(/`([^`]*)`/, '<code>$1</code>').readLines()*.trim()
        def body = lines.collect { it ? "$indent * $it" : "$indent * <p>" }
        "$indent/**\n${body.join('\n')}\n$indent */\n"
    }

    void write(String name, String text, String packageName = PACKAGE) {
        def ours = packageName == PACKAGE ? ['io.mockkafka.AdminPort'] : []
        def imports = ['com.fasterxml.jackson.annotation.JsonAutoDetect', 'com.fasterxml.jackson.annotation.JsonIgnoreProperties',
            'com.fasterxml.jackson.annotation.JsonInclude', 'com.fasterxml.jackson.core.type.TypeReference',
            'com.fasterxml.jackson.databind.JsonNode', 'com.fasterxml.jackson.databind.PropertyNamingStrategies',
            'com.fasterxml.jackson.databind.annotation.JsonNaming', 'java.nio.charset.StandardCharsets', 'java.nio.file.Path',
            'java.time.Duration', 'java.time.Instant', 'java.util.AbstractMap', 'java.util.ArrayList', 'java.util.Base64',
            'java.util.HashMap', 'java.util.LinkedHashMap', 'java.util.List', 'java.util.Map', 'java.util.stream.Collectors', 'java.util.stream.Stream',
            'org.apache.kafka.common.TopicPartition', *ours].findAll { text =~ /\b${it.tokenize('.').last()}\b/ }
        if (packageName != PACKAGE) { imports << PACKAGE + '.*' }
        def folder = new File(output, packageName.replace('.', '/'))
        folder.mkdirs()
        new File(folder, "${name}.java").setText("// Generated from clients/openapi.json and methods.json: do not edit.\n" +
            "package $packageName;\n\n${imports.collect { "import $it;\n" }.join()}\n$text", 'UTF-8')
    }

    static String openEnum(String name, String text, List values) {
        javadoc(text + ' Its text is the name that Kafka and the admin port use.') +
            "public enum $name {\n" + enumBody(name, values, '    ') + '}\n'
    }

    static String enumBody(String name, List values, String indent) {
        values.collect { "$indent/** {@code $it}. */\n$indent${constant(it)}(\"$it\")" }.join(',\n') + ';\n\n' +
            "${indent}private final String text;\n\n$indent$name(String text) {\n$indent    this.text = text;\n$indent}\n\n" +
            "$indent@Override\n${indent}public String toString() {\n$indent    return text;\n$indent}\n"
    }

    String nestedEnum(String property, Map schema) {
        def values = enumOf(schema)
        if (!values || property in OPEN_ENUMS.keySet()) { return '' }
        def name = title(property)
        "    /** The values of {@code $property}. */\n    public enum $name {\n${enumBody(name, values, '        ')}    }\n\n"
    }

    /** Return setters of a property; `assignment` makes a statement of the Java text of the value. */
    String setters(String owner, String property, Map schema, boolean nullable, Closure assignment) {
        def types = choices(schema).collect { javaType(property, it, nullable) }.unique()
        if (enumOf(schema)) {
            types = [OPEN_ENUMS[property] ?: title(property)] + (OPEN_ENUMS[property] ? ['String'] : [])
        }
        def name = camel(property)
        types.collect { type ->
            def value = type != 'String' && enumOf(schema)
                ? "$name == null ? null : ${name}.toString()" : name
            javadoc(sentence(schema.description ?: "Set `$property`"), '    ') +
                "    public $owner $name($type $name) {\n        ${assignment(value)}\n        return this;\n    }\n\n"
        }.join()
    }

    static String initialValue(Map schema) {
        def value = schema.default
        if (value == null || value instanceof Boolean && !value || value == 0) { return '' }
        ' = ' + (value instanceof List ? 'List.of()' : value instanceof Map ? 'Map.of()' : value instanceof String ? "\"$value\"" : value)
    }

    static String sentence(String text) {
        def found = text.trim()
        found[0].toUpperCase() + found.substring(1) + (found.endsWith('.') ? '' : '.')
    }

    // A field that is null was not set. In a map null is a value, as in a quota to remove.
    static final JSON = '''\
@JsonAutoDetect(fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE,
        isGetterVisibility = JsonAutoDetect.Visibility.NONE)
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonInclude(value = JsonInclude.Include.NON_NULL, content = JsonInclude.Include.ALWAYS)
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
'''

    String schemaClass(String name, Map schema) {
        def isSent = name in sent
        def required = schema.required ?: []
        def text = new StringBuilder(javadoc(schema.description)).append(JSON).append("public final class $name {\n")
        schema.properties.each { property, of ->
            def isBoxed = isSent || mayBeNull(of) || !(property in required || of.default != null)
            def type = javaType(property, of, isBoxed)
            def always = isSent && property in required && mayBeNull(of) ? '@JsonInclude(JsonInclude.Include.ALWAYS) ' : ''
            def initial = isSent || isBoxed ? '' : initialValue(of)
            text << "    ${always}private $type ${camel(property)}$initial;\n"
        }
        text << '\n'
        schema.properties.each { property, of ->
            if (isSent) { text << nestedEnum(property, of) }
            def isBoxed = isSent || mayBeNull(of) || !(property in required || of.default != null)
            def what = (of.description ?: "Return `$property`") + (isBoxed ? '; null if there is none' : '')
            text << javadoc(sentence(what), '    ')
            text << "    public ${javaType(property, of, isBoxed)} ${camel(property)}() {\n"
            text << "        return ${camel(property)};\n    }\n\n"
            if (isSent) { text << setters(name, property, of, property in required && mayBeNull(of)) { "this.${camel(property)} = $it;" } }
        }
        if (table.texts[name]) { text << lineMethod(schema, table.texts[name]) }
        text << '    /** Return it as JSON. */\n    @Override\n    public String toString() {\n'
        text << '        return AdminPort.json(this);\n    }\n}\n'
    }

    // Operations ---------------------------------------------------------------------------------

    static List<Map> queryOf(Map operation) { operation.parameters.findAll { it.in == 'query' } }

    static String queryName(Map operation) { title(operation.operationId) + 'Query' }

    String queryClass(Map operation) {
        def name = queryName(operation)
        def text = new StringBuilder("/** The query of {@link AdminApi#${camel(operation.operationId)}}. */\n")
        text << "public final class $name {\n    private final Map<String, Object> parameters = new LinkedHashMap<>();\n\n"
        text << "    /** Select everything. */\n    public $name() {}\n\n"
        text << "    /** Select what another query selects. */\n    public $name($name other) {\n        parameters.putAll(other.parameters);\n    }\n\n"
        queryOf(operation).each {
            def schema = it.schema + [description: it.description]
            text << nestedEnum(it.name, schema)
            text << setters(name, it.name, schema, false) { value -> "parameters.put(\"${it.name}\", $value);" }
        }
        text << '    /** Return the parameters that were set, by their names. */\n'
        text << '    public Map<String, Object> parameters() {\n        return parameters;\n    }\n}\n'
    }

    /** Return what a method returns, null if it is no value but a page or a stream. */
    String returnType(Map operation) {
        def content = operation.responses.find { it.key in ['200', '201', '204'] }.value.content
        if (!content) { return 'void' }
        def (kind, media) = content.entrySet().first().with { [it.key, it.value] }
        if (kind == 'application/json') {
            def type = javaType('', media.schema, true)
            return type == 'Object' ? 'JsonNode' : type
        }
        kind in ['text/plain', 'application/x-ndjson'] ? 'String' : null
    }

    String adminApi() {
        def text = new StringBuilder('/** Every operation of the admin port: what the methods of MockKafka leave out. */\n')
        text << 'public final class AdminApi {\n    /** The version of the package. */\n'
        text << "    public static final String VERSION = \"${document.info.version}\";\n\n"
        text << '    private final AdminPort port;\n\n    /** Use a port. */\n'
        text << '    public AdminApi(AdminPort port) {\n        this.port = port;\n    }\n\n'
        operations().findAll { returnType(it) != null }.each { text << method(it) }
        text << '}\n'
    }

    String method(Map operation) {
        def path = '"' + operation.path.replaceAll(/\{(\w+)\}/) { "\" + AdminPort.encoded(${camel(it[1])}) + \"" } + '"'
        def arguments = operation.parameters.findAll { it.in == 'path' }.collect { "${javaType(it.name, it.schema, false)} ${camel(it.name)}" }
        def body = operation.requestBody?.content?.values()?.first()?.schema
        if (body) { arguments << "${javaType('', body, true)} body" }
        def query = queryOf(operation)
        def type = returnType(operation)
        def reference = type == 'void' ? 'Void' : type
        def head = javadoc(operation.description ?: operation.summary, '    ')
        def name = camel(operation.operationId)
        def shown = [*arguments, *(query ? ["${queryName(operation)} query"] : [])]
        def call = "port.ask(\"${operation.method}\", ${path.replace(' + ""', '')}, ${query ? 'query.parameters()' : 'Map.of()'}, " +
            "${body ? 'body' : 'null'}, new TypeReference<$reference>() {});"
        def text = "$head    public $type $name(${shown.join(', ')}) {\n        ${type == 'void' ? '' : 'return '}$call\n    }\n\n"
        if (!query || query.any { it.required }) { return text }
        def given = [*arguments*.tokenize(' ')*.last(), "new ${queryName(operation)}()"].join(', ')
        text + "$head    public $type $name(${arguments.join(', ')}) {\n" +
            "        ${type == 'void' ? '' : 'return '}$name($given);\n    }\n\n"
    }

    // Pleasant names -----------------------------------------------------------------------------

    Map operationOf(String id) { operations().find { it.operationId == id } }

    static List<String> renamed(String text) { text.tokenize('=').with { [it[0], it.size() > 1 ? it[1] : camel(it[0])] } }

    static boolean isMillis(String field) { field == 'ms' || field.endsWith('_ms') }

    /** Return the schema of a parameter or of a field of the body, and where it is. */
    List placeOf(Map operation, String field) {
        def parameter = operation.parameters.find { it.in in ['path', 'query'] && it.name == field }
        if (parameter) { return [parameter.in, parameter.schema + [description: parameter.description]] }
        ['body', schemas()[bodyName(operation)].properties[field]]
    }

    static String bodyName(Map operation) { operation.requestBody.content.values().first().schema.with { it['$ref'] ? refName(it) : null } }

    String text(Map schema, String accessor) { schema.type == 'array' ? "String.join(\" \", $accessor)" : accessor }

    String lineMethod(Map schema, List parts) {
        def adds = parts.collect { part ->
            def isOptional = part instanceof List
            def pieces = []
            def rest = isOptional ? part[0] : part
            def fields = (rest =~ /\{(.*?)\}/).collect { it[1] as String }
            rest.split(/\{.*?\}/, -1).eachWithIndex { fixed, index ->
                if (fixed) { pieces << "\"$fixed\"" }
                if (index < fields.size()) {
                    def values = fields[index].tokenize('|').collect { text(schema.properties[it], camel(it)) }
                    pieces << (values.size() > 1 ? "(${values[0]} == null ? ${values[1]} : ${values[0]})" : values[0])
                }
            }
            def there = !isOptional ? [] : fields.collect { name ->
                def of = schema.properties[name]
                of.type == 'array' ? "!${camel(name)}.isEmpty()" : of.type == 'integer' ? "${camel(name)} != 0" : "${camel(name)} != null"
            }
            def joined = pieces[0].startsWith('"') ? pieces.join(' + ') : "\"\" + ${pieces.join(' + ')}"
            isOptional ? "${there.join(' || ')} ? $joined : \"\"" : joined
        }
        '    /** Return it as a line of text. */\n    public String line() {\n' +
            "        return Stream.of(\n${adds.collect { "                        $it" }.join(',\n')})\n" +
            '                .filter(part -> !part.isEmpty())\n                .map(part -> part.strip().replaceAll(" +", " "))\n' +
            '                .collect(Collectors.joining(" "));\n    }\n\n'
    }

    boolean hasBytes(Map schema) { choices(schema).any { it['$ref'] && refName(it) == 'BytesView' } }

    static String optionsClass(String name, Map fields) {
        def types = [flag: 'boolean', list: 'List<String>', map: 'Map<String, String>', int: 'Integer']
        def initial = [list: 'List.of()', map: 'new LinkedHashMap<>()']
        def text = new StringBuilder("/** The options of {@link $name}. */\npublic abstract class ${name}Fields {\n")
        fields.findAll { own, row -> !row.config }.each { own, row ->
            def value = row.default ?: initial[row.type]
            text << "    ${types[row.type] ?: row.type} $own${value ? " = $value" : ''};\n"
        }
        text << "\n    /** For the options of this package. */\n    ${name}Fields() {}\n\n"
        fields.each { own, row ->
            def (parameters, statement) = row.config ? ['', row.config.collect { key, value -> "config.put(\"$key\", \"$value\")" }.join(';\n        ')]
                : row.type == 'flag' ? ['', "$own = true"] : row.type == 'list' ? ['String... words', "$own = List.of(words)"]
                : row.type == 'map' ? ["String name, ${row.values} value", "${own}.put(name, value.toString())"] : ["${row.type} $own", "this.$own = $own"]
            text << javadoc(row.says, '    ') << "    public $name $own($parameters) {\n        $statement;\n        return ($name) this;\n    }\n\n"
        }
        text << '    List<String> argumentsOfFields() {\n        List<String> arguments = new ArrayList<>();\n'
        fields.findAll { own, row -> row.argument }.each { own, row ->
            def (condition, value) = row.type == 'flag' ? [own, ''] : ["$own != null", ", \"\" + $own"]
            text << "        if ($condition) {\n            arguments.addAll(List.of(\"$row.argument\"$value));\n        }\n"
        }
        text << '        return arguments;\n    }\n}\n'
    }

    String errorClass(String name, Map row) {
        def text = new StringBuilder(javadoc(row.says)).append("public class $name extends RuntimeException {\n")
        text << "    private static final long serialVersionUID = 1;\n\n    private final int status;\n    private final transient ${row.of} problem;\n\n"
        text << "    $name(String message, Throwable cause) {\n        super(message, cause);\n        status = 0;\n        problem = null;\n    }\n\n"
        text << "    $name(String message) {\n        this(message, null);\n    }\n\n"
        text << "    $name(int status, ${row.of} problem) {\n        super(problem.${camel(row.message)}());\n        this.status = status;\n        this.problem = problem;\n    }\n\n"
        text << accessor('int', 'status', 'Return the HTTP status of a refusal, such as 404; 0 if there was no response.', 'status')
        text << accessor(row.of, 'problem', 'Return the document (RFC 9457), with the remedy; null if there was no response.', 'problem') << '}\n'
    }

    String reportClass(String name, Map row) {
        def schema = schemas()[row.of]
        def entry = refName(schema.properties[row.list].items)
        def text = new StringBuilder(javadoc(schema.description)).append("public final class $name {\n")
        text << "    private final ${row.of} view;\n\n    $name(${row.of} view) {\n        this.view = view;\n    }\n\n"
        text << accessor(row.of, 'view', 'Return all of the report.', 'view')
        text << accessor("List<$entry>", camel(row.list), "Return the ${row.list} of the report.", "view.${camel(row.list)}()")
        text << "    /**\n     * Fail if there are ${row.list}.\n     *\n     * @param exceptKinds kinds that the test expects\n"
        text << "     * @throws AssertionError there are others; the message is the report\n     */\n"
        text << "    public void ${row.asserts}(String... exceptKinds) {\n"
        text << "        long expected = ${camel(row.list)}().stream().filter(each -> List.of(exceptKinds).contains(each.${camel(row.kind)}())).count();\n"
        text << "        if (view.${camel(row.count)}() > expected) {\n            throw new AssertionError(toString());\n        }\n    }\n\n"
        text << "    @Override\n    public String toString() {\n        return view.line() + ${camel(row.list)}().stream().limit(20).map(each -> \"\\n  \" + each.line()).collect(Collectors.joining());\n    }\n}\n"
    }

    String recordClass(String name, Map row) {
        def schema = schemas()[row.of]
        def text = new StringBuilder(javadoc(schema.description))
        text << "public final class $name {\n    private final String ${row.with};\n    private final ${row.of} view;\n\n"
        text << "    $name(String ${row.with}, ${row.of} view) {\n        this.${row.with} = ${row.with};\n        this.view = view;\n    }\n\n"
        text << accessor('String', row.with, "Return the ${row.with}.", row.with)
        schema.properties.each { property, of ->
            def own = camel(property)
            def entry = of.items ? schemas()[refName(of.items)] : null
            if (hasBytes(of)) {
                text << accessor('String', own, "Return the $property as text in UTF-8, or null.", "view.$own() == null ? null : new String(${own}Bytes(), StandardCharsets.UTF_8)")
                text << accessor('byte[]', "${own}Bytes", "Return the bytes of the $property, or null.", "bytes(view.$own())")
            } else if (entry && hasBytes(entry.properties.value)) {
                text << accessor('List<Map.Entry<String, byte[]>>', own, "Return the $property in their order; a value may be null.",
                    "view.$own().stream()\n                .map(each -> new AbstractMap.SimpleImmutableEntry<>(each.key(), bytes(each.value())))\n" +
                    '                .collect(Collectors.toUnmodifiableList())')
            } else if (property in row.instants) {
                text << accessor('Instant', own, "Return the ${property}.", "Instant.ofEpochMilli(view.$own())")
            } else {
                text << accessor(javaType(property, of, mayBeNull(of)), own, "Return the $property${mayBeNull(of) ? ', or null' : ''}.", "view.$own()")
            }
        }
        def shown = schema.properties.findAll { !it.value.items }.keySet().collect { "\"$it=\" + ${camel(it)}()" }
        text << "    @Override\n    public String toString() {\n        return \"$name{${row.with}=\" + ${row.with}\n"
        text << shown.collect { "                + \", \" + $it\n" }.join() + '                + "}";\n    }\n\n'
        text << '    private static byte[] bytes(BytesView view) {\n        return view == null ? null : Base64.getDecoder().decode(view.base64());\n    }\n}\n'
    }

    static String accessor(String type, String name, String says, String value) {
        "    /** $says */\n    public $type $name() {\n        return $value;\n    }\n\n"
    }

    String ruleMethod(String name, Map row) {
        def fields = schemas().FaultRule.properties
        def returned = row.returns ?: 'Fault'
        def (field, own) = row.value ? renamed(row.value) : [null, null]
        def says = ([field] + (row.sets?.keySet() ?: [])).findAll().collect {
            def set = row.sets?.get(it)
            "<li>`${it == field ? own : camel(it)}`${set ? ", by default $set" : ''}: ${fields[it].description}"
        }
        def text = new StringBuilder(listed('Add a rule. For the requests that it matches:', says))
        def value = field && isMillis(field) ? ['Duration', millis(own, areInt[field])] : [OPEN_ENUMS[field] ?: field ? javaType(field, fields[field], true) : null, own]
        text << "    public $returned $name(FaultRule when${field ? ", ${value[0]} $own" : ''}) {\n"
        text << '        FaultRule rule = AdminPort.copy(when, FaultRule.class);\n'
        row.sets?.each { set, constantValue ->
            def constantOf = { "FaultRule.${title(set)}.${constant(it)}" }
            def other = row.with?.find { it.value[set] }
            def chosen = other ? "rule.${camel(other.key)}() == null ? ${constantOf(constantValue)} : ${constantOf(other.value[set])}" : constantOf(constantValue)
            text << "        if (rule.${camel(set)}() == null) {\n            rule.${camel(set)}($chosen);\n        }\n"
        }
        def rule = field ? "rule.${camel(field)}(${value[1]})" : 'rule'
        text << "        return ${returned == 'Fault' ? '' : "($returned) "}addFault($rule);\n    }\n\n"
    }

    static String listed(String head, List<String> items) {
        javadoc(head, '    ').replace('     */\n', '') + "     * <ul>\n" +
            items.collect { javadoc(it.substring(4), '    ').readLines()[1..-2].with { lines -> [lines[0].replace('* ', '* <li>'), *lines.drop(1)] }.join('\n') + '\n' }.join() +
            '     * </ul>\n     */\n'
    }

    static String millis(String duration, boolean isInt) { isInt ? "Math.toIntExact(${duration}.toMillis())" : "${duration}.toMillis()" }

    /** Return a method in all its forms; `key` is the parameter of the path that a resource has. */
    String methodForms(String name, Map row, String admin = 'admin()', String key = null, String before = '') {
        def operation = operationOf(row.operation)
        def forms = row.forms ?: [operation.parameters.findAll { it.in == 'path' && it.name != key }*.name]
        def isWait = operation.parameters.any { it.name == 'timeout_ms' }
        forms.collect { isWait ? [it + ['timeout_ms=timeout'], it] : [it] }.collectMany { it }.collect { form(name, row, operation, it, admin, key, isWait, before) }.join()
    }

    String form(String name, Map row, Map operation, List given, String admin, String key, boolean isWait, String before) {
        def fields = given.collect { renamed(it) }
        def arguments = fields.collect { field, own -> "${argumentType(row, operation, field)} $own" }.join(', ')
        def isDefault = isWait && !fields.any { it[0] == 'timeout_ms' }
        def value = isDefault
            ? "$name(${[*fields.collect { it[1] }, 'AdminPort.WAIT'].join(', ')})"
            : call(row, operation, fields, admin, key)
        def (type, statement) = isDefault ? [resultOf(row, operation, '', name, fields)[0], null] : resultOf(row, operation, value, name, fields)
        if (isDefault) { statement = (type == 'void' ? '' : 'return ') + "$value;" }
        formComment(row, operation, isWait, isDefault) + "$before    public $type $name($arguments) {\n        $statement\n    }\n\n"
    }

    String argumentType(Map row, Map operation, String field) {
        if (field == 'query') { return queryName(operation) }
        if (field == 'body') { return row.body ?: bodyName(operation) }
        def (place, schema) = placeOf(operation, field)
        if (isMillis(field)) { return 'Duration' }
        if (OPEN_ENUMS[field]) { return OPEN_ENUMS[field] }
        javaType(field, schema, mayBeNull(schema) && (operation.requestBody && place == 'body') && field in (schemas()[bodyName(operation)].required ?: []))
    }

    String call(Map row, Map operation, List fields, String admin, String key) {
        def given = operation.parameters.findAll { it.in == 'path' }.collect { parameter ->
            parameter.name == key ? 'id()' : fields.find { it[0] == parameter.name }[1]
        }
        def set = { place -> fields.findAll { !(it[0] in ['body', 'query']) && placeOf(operation, it[0])[0] == place }.collect { field, own ->
            ".${camel(field)}(${isMillis(field) ? millis(own, areInt[field]) : own})"
        }.join() }
        def sets = row.sets?.collect { ".${camel(it.key)}(${it.value})" }?.join() ?: ''
        if (operation.requestBody) { given << (fields.find { it[0] == 'body' }?.getAt(1) ?: "new ${bodyName(operation)}()${set('body')}") }
        if (queryOf(operation)) { given << (fields.find { it[0] == 'query' }?.getAt(1) ?: "new ${queryName(operation)}()") + set('query') + sets }
        "$admin.${camel(operation.operationId)}(${given.join(', ')})"
    }

    /** Return the type of what a method returns, and its statements. */
    List resultOf(Map row, Map operation, String call, String name, List fields) {
        def type = returnType(operation)
        if (row.then) { return [row.then.returns, "$call;\n        return ${row.then.method}(${fields[0][1]});"] }
        if (row.otherwise) {
            def said = fields.collect { "\"${it[1]} \" + ${it[1]}" }.join(' + ", " + ')
            return [type, "$type found = $call;\n        if (found == null) {\n            throw new AssertionError(\"$name: nothing for \" + $said + \"; ${row.otherwise}() has \" + ${row.otherwise}());\n        }\n        return found;"]
        }
        if (row.by_partition) {
            def item = type.replaceAll(/List<(.*)>/, '$1')
            def field = camel(row.by_partition)
            return ['Map<TopicPartition, Long>', "Map<TopicPartition, Long> found = new HashMap<>();\n        for ($item view : $call) {\n" +
                "            if (view.$field() != null) {\n                found.put(new TopicPartition(view.topic(), view.partition()), view.$field());\n            }\n        }\n        return found;"]
        }
        if (row.hides) { return [type, "return ${call}.stream().filter(each -> !each.${camel(row.hides)}()).collect(Collectors.toList());"] }
        if (row.instant) { return ['Instant', "return Instant.ofEpochMilli($call.${camel(row.instant)}());"] }
        if (row.as) { return [row.as, "return new ${row.as}($call);"] }
        if (row.returns) {
            def of = table.resources[row.returns].of
            def make = row.returns.toLowerCase()
            return row.body ? [row.returns, "return $make(AdminPort.copy($call, ${of}.class));"]
                : ["List<${row.returns}>", "return ${call}.stream().map(this::$make).collect(Collectors.toList());"]
        }
        [type, type == 'void' ? "$call;" : "return $call;"]
    }

    static String formComment(Map row, Map operation, boolean isWait, boolean isDefault) {
        // What comes after the timeout is an error of this package.
        def says = [operation.summary, operation.description ?: ''].collect {
            isWait ? it.replaceAll(/, or null after the timeout|After the timeout [^.]*\. ?/, '') : it
        }
        def text = sentence(says[0]) + (isDefault ? ' It waits for 10 s.' : '') + (says[1] ? "\n\n${says[1]}" : '')
        if (row.by_partition) { text += "\n\nReturn `${row.by_partition}` by partition." }
        def comment = javadoc(text, '    ')
        isWait ? comment.replace('     */\n', '     *\n     * @throws AssertionError it did not happen for this long; the message says what there is\n     */\n') : comment
    }

    String resourceClass(String name, Map row) {
        def base = row.extends ? table.resources[row.extends] : row
        def (of, key) = [base.of, base.key]
        def schema = schemas()[of]
        def head = row.extends ? "public final class $name extends ${row.extends}${row.disposal ? ' implements AutoCloseable' : ''}" : "public class $name"
        def text = new StringBuilder(javadoc(schema.description + (row.disposal ? "\n\n`close()` is `${row.disposal}()`." : ''))).append("$head {\n")
        if (row.extends) {
            text << "    $name(AdminApi admin, $of view) {\n        super(admin, view);\n    }\n\n"
        } else {
            text << "    final AdminApi admin;\n    private final $of view;\n\n    $name(AdminApi admin, $of view) {\n        this.admin = admin;\n        this.view = view;\n    }\n\n"
            row.makes.each { own, field ->
                text << "    /** Return a rule for requests of an $field: its setters say which of these requests, and how often. */\n"
                text << "    public static FaultRule $own(${OPEN_ENUMS[field]} $field) {\n        return new FaultRule().$field($field);\n    }\n\n"
            }
            [key, *row.keeps].each { text << accessor(javaType(it, schema.properties[it], false), camel(it), "Return the ${it}.", "view.${camel(it)}()") }
        }
        row.reads.each { own, field ->
            text << accessor(javaType(field, schema.properties[field], false), own, "Ask the cluster for `$field`.".replaceAll(/`(.*)`/, '{@code $1}'), "now().${camel(field)}()")
        }
        row.methods.each { own, each ->
            text << methodForms(own, each, 'admin', key, row.extends && base.methods[own] ? '    @Override\n' : '')
        }
        if (row.disposal) { text << "    @Override\n    public void close() {\n        ${row.disposal}();\n    }\n\n" }
        if (!row.extends) {
            def shown = row.keeps.collect { "${camel(it)}()" }.join(' + " " + ')
            text << "    @Override\n    public String toString() {\n        return \"${name.toLowerCase()} \" + ${camel(key)}() + \": \" + $shown;\n    }\n\n"
            text << "    final $of now() {\n        return admin.${camel(row.list)}().stream()\n                .filter(each -> each.${camel(key)}() == ${camel(key)}())\n" +
                '                .findFirst()\n                .orElseThrow(() -> new IllegalStateException(this + " was removed, or the cluster was reset"));\n    }\n'
        }
        text << '}\n'
    }

    String portMethods() {
        def text = new StringBuilder('/** The methods of a cluster that are one request to its admin port each. */\n')
        text << 'public abstract class PortMethods {\n    /** For the clusters of this package. */\n    PortMethods() {}\n\n'
        text << '    /** Return all operations of the admin port, for what has no method here. */\n    public abstract AdminApi admin();\n\n'
        table.methods.values().findAll { it.then }.each {
            def (then, own) = [it.then, renamed(it.forms[0][0])[1]]
            text << "    /** Return what the query selects, without waiting. */\n    public abstract ${then.returns} ${then.method}(String $own, ${then.query} query);\n\n"
            text << "    /** Return all that there is, without waiting. */\n    public ${then.returns} ${then.method}(String $own) {\n        return ${then.method}($own, new ${then.query}());\n    }\n\n"
        }
        table.rules.each { name, row -> text << ruleMethod(name, row) }
        table.methods.each { name, row -> text << methodForms(name, row) }
        table.resources.findAll { it.value.of }.each { name, row ->
            def special = table.resources.findAll { it.value.extends == name }
            def choice = special.collect { "view.rule().${camel(it.value.if)}() != null ? new ${it.key}(admin(), view) : " }.join()
            text << "    private $name ${name.toLowerCase()}(${row.of} view) {\n        return ${choice}new $name(admin(), view);\n    }\n\n"
        }
        text << '}\n'
    }
}

def output = new File(project.build.directory, 'generated-sources/openapi')
def read = { new JsonSlurper().parse(new File(it as String), 'UTF-8') as Map }
new Generator(read(document), read(methods), output).run()
project.addCompileSourceRoot(output.path)
