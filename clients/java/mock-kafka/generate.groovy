// Write the classes of the package io.mockkafka.admin from the OpenAPI document of the admin port.
//
// A schema becomes a class with an accessor for each property, and with setters if requests have it.
// An operation becomes a method of AdminApi, and its query a class. Maven runs this before it
// compiles, with `document` and `output` (a folder); nothing that it writes is kept in the project.

import groovy.json.JsonSlurper

final class Generator {
    static final PACKAGE = 'io.mockkafka.admin'
    static final INT_MAX = Integer.MAX_VALUE
    // Any number is a valid API and error code, so these take any text besides Kafka's names.
    static final OPEN_ENUMS = [api: 'Api', error: 'ErrorCode']

    final Map document
    final File folder
    final Set<String> sent = []
    final Map<String, Boolean> areInt = [:]

    Generator(Map document, File output) {
        this.document = document
        folder = new File(output, PACKAGE.replace('.', '/'))
    }

    void run() {
        noteIntegers('', document)
        operations().each { it.requestBody?.content?.values()?.each { media -> noteSent(media.schema) } }
        folder.mkdirs()
        schemas().each { name, schema -> if (!schema.enum) write(name, schemaClass(name, schema)) }
        def rule = schemas().FaultRule.properties
        write('Api', openEnum('Api', 'An API of Kafka.', rule.api.enum))
        write('ErrorCode', openEnum('ErrorCode', 'An error code of Kafka.', rule.error.enum))
        operations().findAll { returnType(it) != null && queryOf(it) }.each { write(queryName(it), queryClass(it)) }
        write('AdminApi', adminApi())
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

    void write(String name, String text) {
        def imports = ['com.fasterxml.jackson.annotation.JsonInclude', 'com.fasterxml.jackson.core.type.TypeReference',
            'com.fasterxml.jackson.databind.JsonNode', 'io.mockkafka.AdminPort', 'java.util.LinkedHashMap', 'java.util.List',
            'java.util.Map'].findAll { text =~ /\b${it.tokenize('.').last()}\b/ }
        new File(folder, "${name}.java").setText(
            "package $PACKAGE;\n\n${imports.collect { "import $it;\n" }.join()}\n$text", 'UTF-8')
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

    String schemaClass(String name, Map schema) {
        def isSent = name in sent
        def required = schema.required ?: []
        def text = new StringBuilder(javadoc(schema.description)).append("public final class $name {\n")
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
}

def output = new File(project.build.directory, 'generated-sources/openapi')
new Generator(new JsonSlurper().parse(new File(document as String), 'UTF-8') as Map, output).run()
project.addCompileSourceRoot(output.path)
