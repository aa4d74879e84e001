/// What a cluster starts with.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub brokers: Option<u16>,
    pub config: Vec<(String, String)>,
    pub command: Vec<String>,
    pub is_audited: bool,
    pub has_new_ports: bool,
}

impl Settings {
    pub(crate) fn token(&self) -> Option<String> {
        let mut found = self.config.iter().filter(|(key, _)| key == "broker.admin.token");
        found.next_back().map(|(_, value)| value.clone())
    }
}
