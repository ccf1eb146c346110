//! Who is calling, and may they?
