//! From an operation's name to the code that carries it out.

use crate::{Context, errors};
use api::{Error, ErrorKind, Service, sqs};
use std::future::Future;

/// Carries out one operation, for a caller who may.
pub trait Handle: api::Operation {
    fn handle(self, context: &Context) -> impl Future<Output = Result<Self::Reply, Error>> + Send;
}

/// Authorizes an operation, then carries it out.
///
/// Errors: [`ErrorKind::AccessDenied`], and those of the operation.
pub async fn carry_out<O: Handle>(request: O, context: &Context) -> Result<O::Reply, Error> {
    let resource_arn = context.arn(&request.resource())?;
    auth::authorize(&context.caller, O::ACTION, &resource_arn).map_err(errors::denied)?;
    request.handle(context).await
}

/// What to do with an operation, whichever it is.
pub trait Dispatch: Send {
    type Output;

    fn run<O: Handle>(self) -> impl Future<Output = Self::Output> + Send;
}

/// Finds the operation of that name and runs `with` for it.
///
/// Errors: [`ErrorKind::UnsupportedOperation`] for an operation of AWS's that isn't built yet;
/// [`ErrorKind::UnknownOperation`] for a name that AWS doesn't have.
pub async fn dispatch<D: Dispatch>(service: Service, operation: &str, with: D) -> Result<D::Output, Error> {
    macro_rules! run {
        ($($name:ident)+) => {
            match operation {
                $(<sqs::$name as api::Operation>::NAME => Ok(with.run::<sqs::$name>().await),)+
                name if sqs::NOT_BUILT.contains(&name) => Err(Error::new(
                    ErrorKind::UnsupportedOperation,
                    format!("The operation {name} is not built yet in this version of Posthouse."),
                )),
                name => Err(Error::new(
                    ErrorKind::UnknownOperation,
                    format!("The operation {} does not exist.", errors::clipped(name)),
                )),
            }
        };
    }
    match service {
        Service::Sqs => run! {
            ChangeMessageVisibility
            ChangeMessageVisibilityBatch
            CreateQueue
            DeleteMessage
            DeleteMessageBatch
            DeleteQueue
            GetQueueAttributes
            GetQueueUrl
            ListQueueTags
            ListQueues
            PurgeQueue
            ReceiveMessage
            SendMessage
            SendMessageBatch
            SetQueueAttributes
            TagQueue
            UntagQueue
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Poll, Waker};

    struct NameIt;

    impl Dispatch for NameIt {
        type Output = &'static str;

        async fn run<O: Handle>(self) -> &'static str {
            O::NAME
        }
    }

    fn check(operation: &str) -> Result<&'static str, ErrorKind> {
        let mut future = pin!(dispatch(Service::Sqs, operation, NameIt));
        match future.as_mut().poll(&mut std::task::Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => outcome.map_err(|error| error.kind),
            Poll::Pending => panic!("naming an operation waits for nothing"),
        }
    }

    #[test]
    fn every_operation_leads_to_its_own_code() {
        for &name in sqs::BUILT {
            assert_eq!(check(name), Ok(name));
        }
        for &name in sqs::NOT_BUILT {
            assert_eq!(check(name), Err(ErrorKind::UnsupportedOperation), "{name}");
        }
        for name in ["", "Nope", "sendmessage"] {
            assert_eq!(check(name), Err(ErrorKind::UnknownOperation), "{name}");
        }
    }
}
