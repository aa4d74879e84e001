//! The types of records that tests read and write, with times and bytes instead of what JSON has.

use crate::{comment, fields_of, Field};
use serde_json::{Map, Value};
use std::fmt::Write;

type Schemas = Map<String, Value>;

const HEADERS: &str = "Vec<(String, Option<Vec<u8>>)>";

/// The type of a field for tests.
fn plain(schemas: &Schemas, owner: &str, field: &Field) -> String {
    let is_optional = field.optional().is_some();
    if field.name == "headers" {
        return HEADERS.into();
    }
    let kind = field.optional().unwrap_or(&field.kind);
    let kind = match is_bytes(schemas, owner, field) {
        true => "Vec<u8>",
        false if field.name == "timestamp" => "SystemTime",
        false => kind,
    };
    if is_optional {
        format!("Option<{kind}>")
    } else {
        kind.into()
    }
}

/// Whether a field is a union with the schema of bytes.
fn is_bytes(schemas: &Schemas, owner: &str, field: &Field) -> bool {
    let members = schemas[owner]["properties"][&field.name]["anyOf"].as_array().into_iter().flatten();
    let mut references = members.filter_map(|member| member["$ref"].as_str());
    references.any(|reference| reference.ends_with("/BytesView") || reference.ends_with("/BytesBody"))
}

pub fn write(out: &mut String, schemas: &Schemas) {
    let stored = fields_of(schemas, "RecordView");
    let new = fields_of(schemas, "RecordBody");
    let places = fields_of(schemas, "ProducedView");
    comment(
        out,
        "\n///",
        "A stored record. A key or value that is None is null in Kafka; `transaction` is `open`, `committed`",
    );
    comment(out, "///", "or `aborted`, and None if it was written in none.");
    writeln!(out, "#[derive(Clone, Debug, PartialEq)]\npub struct Record {{\npub topic: String,").unwrap();
    for field in &stored {
        writeln!(out, "pub {}: {},", field.name, plain(schemas, "RecordView", field)).unwrap();
    }
    writeln!(out, "}}\n\nimpl From<RecordView> for Record {{\nfn from(view: RecordView) -> Self {{").unwrap();
    writeln!(out, "let bytes = |view: BytesView| BASE64_STANDARD.decode(view.base64.unwrap_or_default()).unwrap_or_default();\nRecord {{\ntopic: String::new(),").unwrap();
    for field in &stored {
        writeln!(out, "{}: {},", field.name, from_view(schemas, "RecordView", field)).unwrap();
    }
    writeln!(out, "}}\n}}\n}}").unwrap();

    comment(out, "\n///", "A record to store. Without a partition its key decides, as in the Java client.");
    writeln!(out, "#[derive(Clone, Debug, Default, PartialEq)]\npub struct NewRecord {{").unwrap();
    for field in &new {
        writeln!(out, "pub {}: {},", field.name, plain(schemas, "RecordBody", field)).unwrap();
    }
    writeln!(out, "}}\n\nimpl NewRecord {{\nfn stored(self, topic: &str, view: ProducedView) -> Record {{\nRecord {{ topic: topic.into(),").unwrap();
    for field in &stored {
        let value = if places.iter().any(|place| place.name == field.name) {
            from_view(schemas, "ProducedView", field)
        } else if new.iter().any(|new| new.name == field.name) {
            format!("self.{}", field.name)
        } else {
            "Default::default()".into()
        };
        writeln!(out, "{}: {value},", field.name).unwrap();
    }
    writeln!(
        out,
        "}}\n}}\n}}\n\nimpl From<&NewRecord> for RecordBody {{\nfn from(record: &NewRecord) -> Self {{"
    )
    .unwrap();
    writeln!(
        out,
        "let bytes = |value: &Vec<u8>| json!({{\"base64\": BASE64_STANDARD.encode(value)}});\nRecordBody {{"
    )
    .unwrap();
    for field in &new {
        writeln!(out, "{}: {},", field.name, to_body(schemas, field)).unwrap();
    }
    writeln!(out, "}}\n}}\n}}").unwrap();
}

/// Returns an expression that takes a field from a view.
fn from_view(schemas: &Schemas, owner: &str, field: &Field) -> String {
    let name = &field.name;
    match plain(schemas, owner, field).as_str() {
        HEADERS => "view.headers.into_iter().map(|one| (one.key, one.value.map(bytes))).collect()".into(),
        "Option<Vec<u8>>" => format!("view.{name}.map(bytes)"),
        "SystemTime" => format!("UNIX_EPOCH + Duration::from_millis(view.{name}.try_into().unwrap_or(0))"),
        _ => format!("view.{name}"),
    }
}

/// Returns an expression that makes a field of the body of a request.
fn to_body(schemas: &Schemas, field: &Field) -> String {
    let name = &field.name;
    match plain(schemas, "RecordBody", field).as_str() {
        HEADERS => "Some(record.headers.iter().map(|(key, value)| HeaderBody { key: key.clone(), value: value.as_ref().map(bytes) }).collect())".into(),
        "Option<Vec<u8>>" => format!("record.{name}.as_ref().map(bytes)"),
        "Option<SystemTime>" => format!(
            "record.{name}.map(|time| {{ let since = time.duration_since(UNIX_EPOCH).unwrap_or_default(); \
             since.as_millis().try_into().unwrap_or(i64::MAX) }})"
        ),
        _ => format!("record.{name}"),
    }
}
