//! The attributes of a queue that can be set.

use crate::codec::{Malformed, Reader, Writer};
use model::limits::{MESSAGE_BYTES_MAX, RETENTION_SECONDS_DEFAULT, VISIBILITY_TIMEOUT_SECONDS_DEFAULT};

/// One attribute with its value. The caller has checked the range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Setting {
    VisibilityTimeout {
        seconds: u32,
    },
    Delay {
        seconds: u32,
    },
    Retention {
        seconds: u32,
    },
    MaximumMessageSize {
        bytes: u32,
    },
    ReceiveWait {
        seconds: u32,
    },
    SqsManagedSse {
        enabled: bool,
    },
    /// `None` turns it off.
    KmsMasterKey {
        id: Option<String>,
    },
    KmsDataKeyReuse {
        seconds: u32,
    },
    /// `None` removes it. Kept as it was written.
    Policy {
        document: Option<String>,
    },
}

impl Setting {
    /// AWS's name for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::VisibilityTimeout { .. } => "VisibilityTimeout",
            Self::Delay { .. } => "DelaySeconds",
            Self::Retention { .. } => "MessageRetentionPeriod",
            Self::MaximumMessageSize { .. } => "MaximumMessageSize",
            Self::ReceiveWait { .. } => "ReceiveMessageWaitTimeSeconds",
            Self::SqsManagedSse { .. } => "SqsManagedSseEnabled",
            Self::KmsMasterKey { .. } => "KmsMasterKeyId",
            Self::KmsDataKeyReuse { .. } => "KmsDataKeyReusePeriodSeconds",
            Self::Policy { .. } => "Policy",
        }
    }

    /// `kind`, then the value. Kinds are never reused.
    pub(crate) fn encode(&self, out: &mut Writer<'_>) {
        match self {
            Self::VisibilityTimeout { seconds } => out.pair(1, u64::from(*seconds)),
            Self::Delay { seconds } => out.pair(2, u64::from(*seconds)),
            Self::Retention { seconds } => out.pair(3, u64::from(*seconds)),
            Self::MaximumMessageSize { bytes } => out.pair(4, u64::from(*bytes)),
            Self::ReceiveWait { seconds } => out.pair(5, u64::from(*seconds)),
            Self::SqsManagedSse { enabled } => out.pair(6, u64::from(*enabled)),
            Self::KmsMasterKey { id } => {
                out.byte(7);
                out.optional_text(id.as_deref());
            }
            Self::KmsDataKeyReuse { seconds } => out.pair(8, u64::from(*seconds)),
            Self::Policy { document } => {
                out.byte(9);
                out.optional_text(document.as_deref());
            }
        }
    }

    pub(crate) fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match from.byte()? {
            1 => Self::VisibilityTimeout { seconds: from.number_u32()? },
            2 => Self::Delay { seconds: from.number_u32()? },
            3 => Self::Retention { seconds: from.number_u32()? },
            4 => Self::MaximumMessageSize { bytes: from.number_u32()? },
            5 => Self::ReceiveWait { seconds: from.number_u32()? },
            6 => Self::SqsManagedSse { enabled: from.number()? != 0 },
            7 => Self::KmsMasterKey { id: from.optional_text()? },
            8 => Self::KmsDataKeyReuse { seconds: from.number_u32()? },
            9 => Self::Policy { document: from.optional_text()? },
            _ => return Err(Malformed("a queue attribute of an unknown kind")),
        })
    }
}

/// All settable attributes of a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    pub visibility_seconds: u32,
    pub delay_seconds: u32,
    pub retention_seconds: u32,
    pub message_bytes_max: u32,
    pub wait_seconds: u32,
    pub sqs_managed_sse: bool,
    pub kms_master_key: Option<String>,
    /// Only where it was set.
    pub kms_data_key_reuse_seconds: Option<u32>,
    pub policy: Option<String>,
}

impl Default for Settings {
    /// Source: CreateQueue, `Attributes`.
    fn default() -> Self {
        Self {
            visibility_seconds: VISIBILITY_TIMEOUT_SECONDS_DEFAULT,
            delay_seconds: 0,
            retention_seconds: RETENTION_SECONDS_DEFAULT,
            message_bytes_max: MESSAGE_BYTES_MAX as u32,
            wait_seconds: 0,
            sqs_managed_sse: true,
            kms_master_key: None,
            kms_data_key_reuse_seconds: None,
            policy: None,
        }
    }
}

impl Settings {
    /// Takes over one attribute. Turning on a key turns off the other kind of encryption.
    ///
    /// Source: SetQueueAttributes, `KmsMasterKeyId`; Observed in recordings of 2025: after the key is cleared,
    /// `SqsManagedSseEnabled` stays false.
    pub(crate) fn set(&mut self, setting: &Setting) {
        match setting {
            Setting::VisibilityTimeout { seconds } => self.visibility_seconds = *seconds,
            Setting::Delay { seconds } => self.delay_seconds = *seconds,
            Setting::Retention { seconds } => self.retention_seconds = *seconds,
            Setting::MaximumMessageSize { bytes } => self.message_bytes_max = *bytes,
            Setting::ReceiveWait { seconds } => self.wait_seconds = *seconds,
            Setting::SqsManagedSse { enabled } => self.sqs_managed_sse = *enabled,
            Setting::KmsMasterKey { id } => {
                self.kms_master_key.clone_from(id);
                if id.is_some() {
                    self.sqs_managed_sse = false;
                } else {
                    self.kms_data_key_reuse_seconds = None;
                }
            }
            Setting::KmsDataKeyReuse { seconds } => self.kms_data_key_reuse_seconds = Some(*seconds),
            Setting::Policy { document } => self.policy.clone_from(document),
        }
    }

    /// Whether taking over `setting` would change nothing that a client can see.
    pub(crate) fn holds(&self, setting: &Setting) -> bool {
        let mut after = self.clone();
        after.set(setting);
        after == *self
    }

    /// What rebuilds these settings from the defaults.
    pub(crate) fn as_list(&self) -> Vec<Setting> {
        let mut list = vec![
            Setting::VisibilityTimeout { seconds: self.visibility_seconds },
            Setting::Delay { seconds: self.delay_seconds },
            Setting::Retention { seconds: self.retention_seconds },
            Setting::MaximumMessageSize { bytes: self.message_bytes_max },
            Setting::ReceiveWait { seconds: self.wait_seconds },
            Setting::KmsMasterKey { id: self.kms_master_key.clone() },
            Setting::SqsManagedSse { enabled: self.sqs_managed_sse },
            Setting::Policy { document: self.policy.clone() },
        ];
        list.extend(self.kms_data_key_reuse_seconds.map(|seconds| Setting::KmsDataKeyReuse { seconds }));
        list
    }
}
