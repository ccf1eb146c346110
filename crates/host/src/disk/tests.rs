//! Both disks answer alike, and the fake one loses exactly what was not synced.

use std::path::Path;

use super::*;

/// What a program can rely on, whichever disk it runs on.
fn check_contract(disk: &dyn Disk, root: &Path) {
    let dir = root.join("a").join("b");
    disk.create_dir_all(&dir).unwrap();
    disk.create_dir_all(&dir).unwrap();
    assert!(disk.list(&root.join("missing")).is_err());
    assert!(disk.open(&dir.join("missing")).is_err());
    assert!(disk.remove(&dir.join("missing")).is_err());
    assert!(disk.create(&root.join("missing").join("file")).is_err());

    let file = disk.create(&dir.join("2")).unwrap();
    assert!(file.is_empty().unwrap());
    file.allocate(2_000).unwrap();
    assert_eq!(file.len().unwrap(), 2_000);
    file.write_at(510, &[b"he", b"", b"llo"]).unwrap();
    file.write_at(1_999, &[b"end"]).unwrap();
    file.write_at(0, &[]).unwrap();
    file.write_at(0, &[b"", b""]).unwrap();
    file.sync_data().unwrap();
    assert_eq!(file.len().unwrap(), 2_002);
    let mut bytes = [9; 8];
    assert_eq!(file.read_at(509, &mut bytes).unwrap(), 8);
    assert_eq!(&bytes, b"\0hello\0\0");
    assert_eq!(file.read_at(2_000, &mut bytes).unwrap(), 2);
    assert_eq!(file.read_at(5_000, &mut bytes).unwrap(), 0);

    disk.create(&dir.join("1")).unwrap();
    assert_eq!(disk.list(&dir).unwrap(), ["1", "2"]);
    disk.rename(&dir.join("2"), &dir.join("1")).unwrap();
    disk.sync_dir(&dir).unwrap();
    assert_eq!(disk.list(&dir).unwrap(), ["1"]);
    let again = disk.open(&dir.join("1")).unwrap();
    assert_eq!(again.len().unwrap(), 2_002);
    disk.remove(&dir.join("1")).unwrap();
    assert_eq!(again.read_at(510, &mut bytes[..5]).unwrap(), 5);
    assert_eq!(&bytes[..5], b"hello", "a removed file stays for whoever has it open");
    again.set_len(511).unwrap();
    again.set_len(520).unwrap();
    assert_eq!(file.read_at(510, &mut bytes).unwrap(), 8);
    assert_eq!(&bytes, b"h\0\0\0\0\0\0\0");
    assert!(disk.free_bytes(&dir).unwrap() > 0);

    let lock = disk.lock_dir(&dir).unwrap();
    assert!(matches!(disk.lock_dir(&dir), Err(LockError::Held { .. })));
    drop(lock);
    disk.lock_dir(&dir).unwrap();
}

#[test]
fn a_real_disk_keeps_the_contract() {
    check_contract(&RealDisk, tempfile::tempdir().unwrap().path());
}

#[test]
fn a_fake_disk_keeps_the_contract() {
    check_contract(&FakeDisk::default(), Path::new("/data"));
}

#[test]
fn a_lock_names_its_holder() {
    let dir = tempfile::tempdir().unwrap();
    let _lock = RealDisk.lock_dir(dir.path()).unwrap();
    let refused = RealDisk.lock_dir(dir.path()).err().unwrap();
    assert_eq!(refused.to_string(), format!("in use by process {}", std::process::id()));
}

#[test]
fn many_parts_are_written_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let file = RealDisk.create(&dir.path().join("parts")).unwrap();
    let numbers: Vec<[u8; 2]> = (0..3_000u16).map(u16::to_le_bytes).collect();
    let parts: Vec<&[u8]> = numbers.iter().map(|number| &number[..]).collect();
    file.write_at(3, &parts).unwrap();
    let mut read = vec![0; 6_000];
    assert_eq!(file.read_at(3, &mut read).unwrap(), 6_000);
    assert_eq!(read, numbers.concat());
}

fn path(name: &str) -> std::path::PathBuf {
    Path::new("/data").join(name)
}

fn disk_with_file(bytes: &[u8]) -> (FakeDisk, Box<dyn File>) {
    let disk = FakeDisk::default();
    disk.install(&path("file"), bytes);
    let file = disk.open(&path("file")).unwrap();
    (disk, file)
}

/// The first byte of each sector, as text.
fn sectors(disk: &FakeDisk) -> String {
    let bytes = disk.contents(&path("file")).unwrap();
    bytes.chunks(SECTOR_BYTES).map(|sector| sector[0] as char).collect()
}

#[test]
fn a_power_cut_leaves_each_unsynced_sector_old_or_new() {
    let (disk, file) = disk_with_file(&[b'.'; 3 * SECTOR_BYTES]);
    file.write_at(0, &[&[b'a'; 2 * SECTOR_BYTES]]).unwrap();
    file.write_at(SECTOR_BYTES as u64, &[&[b'b'; 2 * SECTOR_BYTES]]).unwrap();
    assert_eq!(sectors(&disk), "abb");
    let found: Vec<String> =
        every_choice(&disk.unsynced()).map(|chosen| sectors(&disk.power_cut(&Survivors::Chosen(chosen)))).collect();
    let expected = ["...", "a..", ".a.", "aa.", ".b.", "ab.", "..b", "a.b", ".ab", "aab", ".bb", "abb"];
    assert_eq!(found, expected);
    assert_eq!(sectors(&disk.power_cut(&Survivors::Nothing)), "...");
    assert_eq!(sectors(&disk.power_cut(&Survivors::Everything)), "abb");

    file.sync_data().unwrap();
    assert_eq!(sectors(&disk.power_cut(&Survivors::Nothing)), "abb");
}

#[test]
fn a_failed_sync_is_not_made_good_by_the_next_one() {
    let (disk, file) = disk_with_file(&[b'.'; 2 * SECTOR_BYTES]);
    file.write_at(0, &[&[b'a'; 2 * SECTOR_BYTES]]).unwrap();
    disk.fault(disk.counts().total(), Fault::Fails(EIO));
    assert!(file.sync_data().is_err());
    file.write_at(0, &[&[b'b'; SECTOR_BYTES]]).unwrap();
    file.sync_data().unwrap();
    assert_eq!(sectors(&disk), "ba");
    assert_eq!(sectors(&disk.power_cut(&Survivors::Nothing)), "b.");
}

#[test]
fn a_power_cut_leaves_any_subset_of_the_unsynced_names() {
    let disk = FakeDisk::default();
    disk.create_dir_all(&path("")).unwrap();
    disk.create(&path("new.tmp")).unwrap();
    disk.rename(&path("new.tmp"), &path("new")).unwrap();
    let found: Vec<String> = every_choice(&disk.unsynced())
        .map(|chosen| disk.power_cut(&Survivors::Chosen(chosen)).list(&path("")).unwrap().concat())
        .collect();
    assert_eq!(found, ["", "new.tmp", "", "new"]);

    disk.sync_dir(&path("")).unwrap();
    assert_eq!(disk.power_cut(&Survivors::Nothing).list(&path("")).unwrap(), ["new"]);
}

#[test]
fn the_same_seed_leaves_the_same_bytes() {
    let (disk, file) = disk_with_file(&[b'.'; 64 * SECTOR_BYTES]);
    file.write_at(0, &[&[b'a'; 64 * SECTOR_BYTES]]).unwrap();
    let cut = |seed| sectors(&disk.power_cut(&Survivors::Seeded(seed)));
    assert_eq!(cut(1), cut(1));
    assert_ne!(cut(1), cut(2));
}

#[test]
fn a_full_disk_takes_writes_where_space_was_set_aside() {
    let disk = FakeDisk::new(1_000);
    disk.create_dir_all(&path("")).unwrap();
    let file = disk.create(&path("file")).unwrap();
    file.allocate(900).unwrap();
    assert_eq!(file.allocate(1_001).unwrap_err().raw_os_error(), Some(ENOSPC));
    file.write_at(0, &[&[1; 900]]).unwrap();
    assert_eq!(file.write_at(900, &[&[1; 101]]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    let other = disk.create(&path("other")).unwrap();
    assert!(other.write_at(0, &[&[1; 101]]).is_err());
    assert_eq!(disk.free_bytes(&path("")).unwrap(), 100);
    disk.remove(&path("file")).unwrap();
    other.write_at(0, &[&[1; 101]]).unwrap();
    assert_eq!(disk.used_bytes(), 101);
}

#[test]
fn a_fault_hits_the_numbered_call_and_no_other() {
    let (disk, file) = disk_with_file(&[b'.'; 4 * SECTOR_BYTES]);
    disk.fault(disk.counts().total() + 1, Fault::Torn);
    file.write_at(0, &[b"x"]).unwrap();
    assert!(file.write_at(0, &[&[b'a'; 4 * SECTOR_BYTES]]).is_err());
    assert_eq!(sectors(&disk), "aa..");

    disk.fault(disk.counts().total(), Fault::PowerCut);
    assert!(file.write_at(0, &[&[b'b'; SECTOR_BYTES]]).is_err());
    assert!(file.sync_data().is_err(), "the power is off");
    assert_eq!(sectors(&disk.power_cut(&Survivors::Nothing)), "....");
    assert_eq!(sectors(&disk.power_cut(&Survivors::Everything)), "ba..");
}

#[test]
fn syncs_call_the_hook() {
    let (disk, file) = disk_with_file(b"");
    let calls = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = calls.clone();
    disk.set_sync_hook(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    file.sync_data().unwrap();
    disk.sync_dir(&path("")).unwrap();
    assert_eq!(calls.load(std::sync::atomic::Ordering::Relaxed), 2);
}
